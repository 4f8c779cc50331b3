/** Says which targets a request would take, by the rules that the gateway itself uses. */
import { useState } from 'preact/hooks';
import { TextField } from '../../parts/fields.tsx';
import { type ConfigLevel, nameOf } from './config-level.ts';

/** Which targets a request takes, in the order of attempts, and why. */
interface Route {
  readonly taken: readonly string[];
  readonly reasons: readonly string[];
}

interface Subject {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly params: Readonly<Record<string, unknown>>;
  readonly url: { readonly pathname: string };
}
type Matches = (query: unknown, subject: Subject) => boolean;

export function TryRequest({
  level,
  onTaken,
}: {
  readonly level: ConfigLevel;
  readonly onTaken: (paths: readonly string[]) => void;
}) {
  const [model, setModel] = useState('');
  const [metadata, setMetadata] = useState('');
  const [path, setPath] = useState('/v1/chat/completions');
  const [route, setRoute] = useState<Route | null>(null);
  const follow = async (event: Event): Promise<void> => {
    event.preventDefault();
    // The gateway's own evaluation, loaded on use because its pattern engine is large.
    const { matchesQuery } = await import('../../../../src/model/configs/conditions.ts');
    const params = model === '' ? {} : { model };
    const subject = { metadata: readPairs(metadata), params, url: { pathname: path } };
    const next = routeOf(level, 'config', subject, matchesQuery);
    setRoute(next);
    onTaken(next.taken);
  };
  return (
    <form onSubmit={(event) => void follow(event)}>
      <div class="filters">
        <TextField label="Model" value={model} onValue={setModel} hint="gpt-4o-mini" />
        <TextField label="Metadata" value={metadata} onValue={setMetadata} hint="team=support" />
        <TextField label="Path" value={path} onValue={setPath} />
      </div>
      <button type="submit">Show the route</button>
      {route !== null && (
        <ol aria-live="polite">
          {route.reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ol>
      )}
    </form>
  );
}

/** `team=support, user=42` as an object. */
function readPairs(text: string): Record<string, string> {
  const pairs = text.split(',').map((pair) => pair.split('=').map((part) => part.trim()));
  return Object.fromEntries(
    pairs.filter(([name = '']) => name !== '').map(([name, value]) => [name, value ?? '']),
  );
}

function routeOf(level: ConfigLevel, path: string, subject: Subject, matches: Matches): Route {
  const { targets, strategy } = level;
  if (targets === undefined) return { taken: [path], reasons: [`${nameOf(level, path)} answers.`] };
  const routes = (indexes: readonly number[], reason: string): Route => {
    const parts = indexes.map((index) =>
      routeOf(targets[index]!, `${path}.targets[${index}]`, subject, matches),
    );
    return {
      taken: parts.flatMap(({ taken }) => taken),
      reasons: [reason, ...parts.flatMap(({ reasons }) => reasons)],
    };
  };
  const all = targets.map((_, index) => index);
  if (strategy?.mode === 'conditional') {
    const condition = (strategy.conditions ?? []).findIndex(({ query }) => matches(query, subject));
    const name = strategy.conditions?.[condition]?.then ?? strategy.default;
    const index = targets.findIndex((target) => target.name === name);
    if (index === -1) {
      return { taken: [], reasons: [`No condition of ${path} matches: the request is refused.`] };
    }
    const why = condition === -1 ? 'No condition matches' : `Condition ${condition + 1} matches`;
    return routes([index], `${why}, so ${path} selects ${name}.`);
  }
  if (strategy?.mode === 'fallback') return routes(all, `${path} tries its targets in this order.`);
  if (targets.length === 1) return routes([0], `${path} has one target.`);
  const mode = strategy?.mode ?? 'loadbalance';
  return routes(all, `${path} (${mode}) selects one of these for each request.`);
}
