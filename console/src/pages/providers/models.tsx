/** Lists the models of an integration with their prices, page by page. */
import { useState } from 'preact/hooks';
import type { BodyOf } from '../../api/client.ts';
import { useReply } from '../../api/use-reply.ts';
import { Show } from '../../parts/page.tsx';
import { NumberedPages, Table } from '../../parts/table.tsx';
import { formatDollars, State } from '../../parts/text.tsx';

type Model = BodyOf<'/v1/integrations/{integrationId}/models'>['models'][number];

const pageSize = 50;

interface ModelsProps {
  readonly integrationId: string;
  /** Slug of the service, for the public prices. */
  readonly service: string;
}

export function Models({ integrationId, service }: ModelsProps) {
  const [page, setPage] = useState(0);
  const models = useReply('/v1/integrations/{integrationId}/models', {
    query: { page_size: pageSize, current_page: page },
    parts: { integrationId },
  });
  return (
    <Show loaded={models}>
      {(body) => (
        <>
          <p>
            {body.allow_all_models
              ? 'Models without an entry are allowed.'
              : 'Only models that are on may be called.'}
          </p>
          <Table
            caption="Models"
            rows={body.models}
            keyOf={({ slug }) => slug}
            empty="The integration has no models."
            columns={[
              { name: 'Model', cell: ({ slug }) => slug },
              {
                name: 'State',
                cell: ({ enabled }) => (
                  <State tone={enabled ? 'good' : 'quiet'}>{enabled ? 'on' : 'off'}</State>
                ),
              },
              { name: 'Price', cell: (model) => <Price model={model} service={service} /> },
            ]}
          />
          <NumberedPages page={page} pageSize={pageSize} total={body.total} onPage={setPage} />
        </>
      )}
    </Show>
  );
}

function Price({ model, service }: { readonly model: Model; readonly service: string }) {
  const own = model.pricing_config as { pay_as_you_go?: Prices } | null;
  const { multiplier } = (model.pricing_adjustments ?? {}) as { multiplier?: unknown };
  const factor = multiplier === undefined ? '' : ` Adjusted by ${JSON.stringify(multiplier)}.`;
  if (own?.pay_as_you_go !== undefined) {
    return (
      <>
        {priceInWords(own.pay_as_you_go)}, set in the integration.{factor}
      </>
    );
  }
  return (
    <>
      <PublicPrice service={service} model={model.slug} />
      {factor}
    </>
  );
}

/** The API returns the public price of one model at a time, so it is loaded when it is asked for. */
function PublicPrice({ service, model }: { readonly service: string; readonly model: string }) {
  const [isRequested, ask] = useState(false);
  const { body, error } = useReply('/v1/model-configs/pricing/{provider}/{model}', {
    parts: { provider: service, model },
    isOn: isRequested,
  });
  if (error !== null) return <span role="alert">{error.message}</span>;
  if (body !== null) return <>{priceInWords(body.pay_as_you_go)}</>;
  return (
    <button type="button" disabled={isRequested} onClick={() => ask(true)}>
      Public price<span class="unseen"> of {model}</span>
    </button>
  );
}

interface Prices {
  readonly request_token?: { readonly price: number };
  readonly response_token?: { readonly price: number };
}

const centsPerDollar = 100;
const million = 1_000_000;

/** The API has cents a token. */
function priceInWords({ request_token: input, response_token: output }: Prices): string {
  const text = (cents: number | undefined): string =>
    cents === undefined ? 'no price' : formatDollars((cents * million) / centsPerDollar);
  return `${text(input?.price)} in, ${text(output?.price)} out a million tokens`;
}
