/** Names the schemas of the OpenAPI document after the resources of their operations. */

/** A name for a schema that an operation uses. */
export interface SchemaName {
  /** For example `Guardrail`, `GuardrailCreate`, `GuardrailList`. */
  readonly name: string;
  /** The name with that of the mount, for a schema that differs there. */
  readonly mountedName: string;
  /** The resource: `Guardrail`. */
  readonly noun: string;
  /** Lower ranks describe a schema better: the record of a resource before the result of a change. */
  readonly rank: number;
}

type Io = 'input' | 'output';

/** Words of paths that are no part of names. */
const silent = /^(?:v1|v2|v0\.1|admin|iam|gatewright)$/;
/** Paths whose words name something else than the resource. */
const renamed: readonly (readonly [path: RegExp, instead: string])[] = [
  [/^\/api-keys\/(?:service|user)(?=\/|$)/, '/api-keys'],
  [/^\/analytics\/graph$/, '/analytics/intervals'],
  [/^\/gatewright\/changes$/, '/change-sets'],
  [/^\/(?:livez|readyz|startupz)$/, '/probe'],
  [/^\/model-configs\/pricing/, '/model-pricing'],
  [/^\/oauth2\/access_token$/, '/access-tokens'],
  [/^\/organisations\/self$/, '/organisations/{self}'],
  [/^\/organisations\/\{\w+\}/, '/organisation'],
  [/^\/scim\/groups$/, '/directory-groups'],
  [/^\/scim\/workspaces/, '/scim-mappings'],
  [/^\/utils\/static-resources\/schema$/, '/check-catalogue'],
  [/^\/utils\/static-resources/, ''],
  [/^\/v0\.1\/servers$/, '/registry-servers'],
];
/** Last words that name one thing, not a list. */
const singular =
  /^(?:status|analytics|metadata|access|auth-settings|defaults|tokens|field-restrictions)$/;
/** Last words that name an action on what precedes them. */
const actions = /^(?:cancel|check|makeDefault|render|resend|reset|rotate|start|sync|test)$/;

const changeWords: Readonly<Record<string, readonly [input: string, output: string]>> = {
  POST: ['Create', 'Created'],
  PUT: ['Update', 'Updated'],
  PATCH: ['Patch', 'Patched'],
  DELETE: ['Delete', 'Deleted'],
};
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const mountWords: Readonly<Record<string, string>> = { v1: 'V1', v2: 'V2', 'admin/v2': 'AdminV2' };

/** `path` has its mount: `/v2/guardrails/{guardrailId}`. */
export function schemaName(method: string, path: string, io: Io): SchemaName {
  const mount = /^\/(v1|v2|admin\/v2)(?=\/)/.exec(path)?.[1] ?? '';
  const below = mount === '' ? path : path.slice(mount.length + 1);
  const words = renamedPath(below)
    .split('/')
    .filter((word) => word !== '' && !silent.test(word));
  const last = words.at(-1)!;
  const isItem = last.startsWith('{');
  const fixed = words.filter((word) => !word.startsWith('{'));
  const noun = fixed.map(singularOf).map(pascal).join('');
  const isList = !isItem && singularOf(last) !== last;
  const isAction = !isItem && actions.test(last);
  const suffix = isAction
    ? { input: 'Request', output: 'Result' }[io]
    : suffixOf(method, isList, io);
  return {
    name: noun + suffix,
    mountedName: noun + suffix + (mountWords[mount] ?? 'Root'),
    noun,
    // The names without a mount are for the strict planes.
    rank: methods.indexOf(method) * 4 + (isList ? 2 : 0) + (mount === 'v1' ? 1 : 0),
  };
}

function suffixOf(method: string, isList: boolean, io: Io): string {
  if (method === 'GET') return isList ? 'List' : '';
  const [input, output] = changeWords[method]!;
  // A change of a whole list is named after the list.
  return (isList && method !== 'POST' ? 'List' : '') + (io === 'input' ? input : output);
}

function renamedPath(path: string): string {
  const [pattern, instead] = renamed.find(([one]) => one.test(path)) ?? [/$^/, ''];
  return path.replace(pattern, instead);
}

/** Names of fields that say nothing without the body around them. */
const vague = /^(?:Action|Configuration|Count|Data|Meta)$/;

/** Uses of one part: the field that contains it, and the names of the bodies. */
interface PartUses {
  readonly field: string;
  readonly bodies: readonly string[];
}

/**
 * Names a part of several bodies after its field, and after what the bodies are for if all are for the same:
 * `ManagedByCreate` for `managed_by` in creates.
 */
export function partName({ field, bodies }: PartUses, isTaken: (name: string) => boolean): string {
  const own = pascal(singularOf(field));
  const purposes = new Set(bodies.map((name) => /(?:Create|Update)?(?:V1)?$/.exec(name)![0]));
  const name = own + (purposes.size === 1 ? [...purposes][0]! : '');
  const names = [...(vague.test(own) ? [] : [name]), ...bodies.map((body) => body + own)];
  const free = names.find((one) => !isTaken(one));
  if (free === undefined) throw new Error(`no name is free for the part ${name}`);
  return free;
}

function singularOf(word: string): string {
  if (singular.test(word)) return word;
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}

function pascal(word: string): string {
  return word
    .split(/[^A-Za-z\d]+/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');
}
