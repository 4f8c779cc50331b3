/** Judges which tools a request declares, and which parameters it has. */
import { isObject } from '../../model/json/read-object.ts';

type List = readonly string[] | undefined;

export interface RequestParameterRules {
  readonly tools?: {
    readonly allowedTypes?: List;
    readonly blockedTypes?: List;
    readonly allowedFunctionNames?: List;
    readonly blockedFunctionNames?: List;
  };
  readonly params?: {
    readonly allowedKeys?: List;
    readonly blockedKeys?: List;
    readonly values?: Readonly<Record<string, ValueRule>>;
  };
}

interface ValueRule {
  readonly allowedValues?: readonly unknown[];
  readonly blockedValues?: readonly unknown[];
}

type Params = Readonly<Record<string, unknown>>;

/** Returns what breaks the rules, each by a name of the rule or the caller; an empty list does not restrict. */
export function brokenRules(
  params: Params,
  { tools = {}, params: own = {} }: RequestParameterRules,
) {
  const declared = declaredTools(params);
  const keys = Object.keys(params);
  return [
    ...refused('tool type', [...new Set(declared.map(({ type }) => plainType(type)))], {
      allowed: tools.allowedTypes?.map(plainType),
      blocked: tools.blockedTypes?.map(plainType),
    }),
    ...refused(
      'function',
      declared.flatMap(({ name }) => (name === null ? [] : [name])),
      {
        allowed: tools.allowedFunctionNames,
        blocked: tools.blockedFunctionNames,
      },
    ),
    ...refused('parameter', keys, { allowed: own.allowedKeys, blocked: own.blockedKeys }),
    ...Object.entries(own.values ?? {}).flatMap(([key, rule]) =>
      Object.hasOwn(params, key) && !isValueAllowed(params[key], rule) ? [`value of ${key}`] : [],
    ),
  ];
}

function refused(
  what: string,
  names: readonly string[],
  { allowed = [], blocked = [] }: { readonly allowed?: List; readonly blocked?: List },
): string[] {
  return names
    .filter((name) => blocked.includes(name) || (allowed.length > 0 && !allowed.includes(name)))
    .map((name) => `${what} ${name.slice(0, 64)}`);
}

function isValueAllowed(value: unknown, { allowedValues = [], blockedValues = [] }: ValueRule) {
  const isIn = (list: readonly unknown[]): boolean => list.some((one) => isSame(one, value));
  return !isIn(blockedValues) && (allowedValues.length === 0 || isIn(allowedValues));
}

/** Rules may write numbers and booleans as texts. */
function isSame(one: unknown, other: unknown): boolean {
  const textOf = (value: unknown): string =>
    typeof value === 'object' ? JSON.stringify(value) : String(value);
  return textOf(one) === textOf(other);
}

interface DeclaredTool {
  readonly type: string;
  readonly name: string | null;
}

/** The tools of a request in every format: lists of `tools` and `functions`, `toolConfig`, declarations of Gemini. */
function declaredTools({ tools, functions, toolConfig }: Params): DeclaredTool[] {
  const listed = isObject(toolConfig) && Array.isArray(toolConfig.tools) ? toolConfig.tools : [];
  const legacy = Array.isArray(functions) ? (functions as unknown[]) : [];
  return [
    ...(Array.isArray(tools) ? (tools as unknown[]) : []).flatMap(toolsIn),
    ...(listed as unknown[]).flatMap(toolsIn),
    ...legacy.flatMap((one) => (isObject(one) ? [{ type: 'function', name: nameIn(one) }] : [])),
  ];
}

/** Everything that a provider could read in one entry, which may mix the forms of several. */
function toolsIn(tool: unknown): DeclaredTool[] {
  if (!isObject(tool)) return [];
  const { type, function: called, custom, toolSpec, ...others } = tool;
  const { functionDeclarations, function_declarations: snake } = others;
  const lists = [functionDeclarations, snake].filter((one) => Array.isArray(one)) as unknown[][];
  const named = [called, custom, toolSpec, tool, ...lists.flat()]
    .map(nameIn)
    .filter((name) => name !== null)
    .map((name) => ({ type: typeof type === 'string' ? type : 'function', name }));
  if (typeof type === 'string') return named.length > 0 ? named : [{ type, name: null }];
  // Tools of Gemini are named by their member: `googleSearch`, also beside declarations of functions.
  const members = Object.keys(others)
    .filter((name) => isObject(others[name]) && !describing.has(name))
    .map((name) => ({ type: name, name: null }));
  return [...named, ...members];
}

/** Members that describe a tool with a name. */
const describing: ReadonlySet<string> = new Set([
  'input_schema',
  'inputSchema',
  'parameters',
  'cache_control',
  'parameter_definitions',
]);

/** Providers accept `googleSearch` and `google_search`. */
function plainType(type: string): string {
  return type.replaceAll('_', '').toLowerCase();
}

function nameIn(value: unknown): string | null {
  return isObject(value) && typeof value.name === 'string' ? value.name : null;
}
