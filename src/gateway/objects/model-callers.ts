/** Knows in whose name the gateway asks models itself: of a caller whose request is at hand, and of one that was written down. */
import type { ConfigNode } from '../../model/config-tree.ts';
import type { ModelCaller, ModelCalls, ModelCallsOf } from '../../objects/model-calls.ts';
import { ObjectError } from '../../objects/object-request.ts';
import { Secret } from '../../secret.ts';
import type { Calling, Pipeline } from '../answering/calling.ts';
import { InnerCalls } from '../answering/inner-call.ts';
import { permitted } from '../callers/authenticate.ts';
import type { ReadHeader } from '../callers/exchange.ts';
import { metadataOf } from '../callers/metadata.ts';
import { leavesOf, ownerOf } from './owned-lookup.ts';

/** Good beyond the end of the request; what is asked so is not sent to the model before it. */
export function modelCallsOf({ pipeline, exchange, config }: Calling): ModelCalls {
  const { key, header, headerPrefix, metadata, credential, sentKey, request } = exchange;
  const { headers } = request;
  const asker = { key, config, header, headers, headerPrefix, metadata, credential, sentKey };
  return new InnerCalls({
    pipeline,
    askerOf: (found) => {
      found.key = asker.key;
      found.config = asker.config;
      return asker;
    },
  });
}

/** What of a request says how others are sent that come of it. */
const keptHeaders = [
  'config',
  'provider',
  'virtual-key',
  'custom-host',
  'request-timeout',
  'metadata',
];

/**
 * Who a request comes from, to ask models for it when it is over.
 *
 * @throws ObjectError where it brings along what is not kept: secrets, and whole configs
 */
export function modelCallerOf({ exchange, config }: Calling): ModelCaller {
  const { key, credential, header } = exchange;
  const refusal = (what: string): ObjectError =>
    new ObjectError('invalid_request', `What asks models later on takes ${what}`);
  if (key.kind === 'token') throw refusal('an API key: a token may be over by then');
  // Many clients send one everywhere, whether or not anybody is in want of it.
  if (credential !== null && wantsCredential(config.root)) {
    throw refusal(
      'the credential of a saved provider or config: none that comes with a request is kept',
    );
  }
  const headers: Record<string, string> = {};
  for (const name of keptHeaders) {
    const value = header(name);
    if (value !== null) headers[name] = value;
  }
  if (headers.config?.startsWith('{') === true) {
    throw refusal('a saved config by its slug: none that comes with a request is kept');
  }
  return { ...ownerOf(key), headers };
}

/** Whether a target has none of its own; those of saved providers have. */
function wantsCredential(root: ConfigNode): boolean {
  return leavesOf(root).some(
    ({ settings: { apiKey, provider, virtualKey } }) =>
      apiKey === null && virtualKey === null && provider?.startsWith('@') !== true,
  );
}

/** Key and config are looked up at each call. `pipelineOf` because these calls are part of it. */
export function storedCallers(pipelineOf: () => Pipeline): ModelCallsOf {
  return ({ organisationId, apiKeyId, headers: kept }) => {
    const pipeline = pipelineOf();
    const header: ReadHeader = (name) => kept[name] ?? null;
    return new InnerCalls({
      pipeline,
      askerOf: async (found, now, id) => {
        const key = permitted(await pipeline.keys.findById(organisationId, apiKeyId), now);
        found.key = key;
        const config = await pipeline.configs.resolve(key, header);
        found.config = config;
        return {
          ...{ key, config, header, headers: {}, headerPrefix: pipeline.headerPrefixes[0]! },
          ...{ metadata: metadataOf(key, header, undefined), credential: null },
          sentKey: new Secret(id, 'a request of the gateway itself'),
        };
      },
    });
  };
}
