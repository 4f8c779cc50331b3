/** Draws a config as nested targets in the order in which they are tried. */
import { type ConfigLevel, describeStrategy, nameOf, shareOf } from './config-level.ts';

interface DrawingProps {
  readonly level: ConfigLevel;
  readonly path?: string;
  /** Paths of the targets that the tried request takes, in order. */
  readonly taken: readonly string[];
}

export function Drawing({ level, path = 'config', taken }: DrawingProps) {
  if (level.targets === undefined) return <Target level={level} path={path} taken={taken} />;
  const { strategy, targets } = level;
  return (
    <div class="strategy">
      <p>
        <strong>{strategy?.mode ?? 'single'}</strong>{' '}
        <span class="quiet">{describeStrategy(level)}</span>
      </p>
      <Details level={level} />
      <Conditions level={level} />
      <ol>
        {targets.map((target, index) => {
          const at = `${path}.targets[${index}]`;
          const isSpread = strategy?.mode === 'loadbalance';
          return (
            <li key={at}>
              {isSpread && (
                <p class="quiet">{(shareOf(target, targets) * 100).toFixed(1)} % of the requests</p>
              )}
              <Drawing level={target} path={at} taken={taken} />
            </li>
          );
        })}
      </ol>
    </div>
  );
}

function Target({ level, path, taken }: Required<DrawingProps>) {
  const place = taken.indexOf(path);
  const names = [level.provider ?? level.virtual_key, level.override_params?.model];
  return (
    <div class={place === -1 ? 'target' : 'target taken'}>
      <p>
        <strong>{nameOf(level, path)}</strong>{' '}
        {place !== -1 && <span class="state good">taken {place === 0 ? 'first' : 'next'}</span>}
      </p>
      <p>
        {names.filter((name) => name !== undefined).join(', ') || 'the provider of the request'}
      </p>
      <Details level={level} />
    </div>
  );
}

function Conditions({ level: { strategy } }: { readonly level: ConfigLevel }) {
  if (strategy?.conditions === undefined) return null;
  return (
    <ol class="conditions">
      {strategy.conditions.map(({ query, then }) => (
        <li key={JSON.stringify(query)}>
          <code>{JSON.stringify(query)}</code> selects <strong>{then}</strong>
        </li>
      ))}
      {strategy.default !== undefined && (
        <li>
          otherwise <strong>{strategy.default}</strong>
        </li>
      )}
    </ol>
  );
}

function Details({ level }: { readonly level: ConfigLevel }) {
  const { retry, cache, request_timeout: timeoutMs, custom_host: host } = level;
  const guards = [
    ...(level.input_guardrails ?? []).map((one) => `request: ${nameOfGuardrail(one)}`),
    ...(level.output_guardrails ?? []).map((one) => `response: ${nameOfGuardrail(one)}`),
  ];
  const details = [
    host === undefined ? '' : `host ${host}`,
    retry?.attempts === undefined ? '' : `${retry.attempts} retries`,
    cache?.mode === undefined ? '' : `${cache.mode} cache`,
    timeoutMs === undefined ? '' : `at most ${timeoutMs / 1000} s`,
    guards.length === 0 ? '' : `guardrails ${guards.join(', ')}`,
  ].filter((text) => text !== '');
  return details.length === 0 ? null : <p class="quiet">{details.join(' · ')}</p>;
}

function nameOfGuardrail(guardrail: unknown): string {
  if (typeof guardrail === 'string') return guardrail;
  const { id, name } = (guardrail ?? {}) as { id?: unknown; name?: unknown };
  return String(name ?? id ?? 'inline');
}
