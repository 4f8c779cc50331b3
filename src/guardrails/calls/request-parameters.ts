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
    ...refused('tool type', [...new Set(declared.map(({ type }) => type))], {
      allowed: tools.allowedTypes,
      blocked: tools.blockedTypes,
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

function toolsIn(tool: unknown): DeclaredTool[] {
  if (!isObject(tool)) return [];
  const { type, function: called, custom, toolSpec, functionDeclarations, ...others } = tool;
  const snake = others.function_declarations;
  const declarations = functionDeclarations ?? snake;
  if (Array.isArray(declarations)) {
    return (declarations as unknown[]).map((one) => ({ type: 'function', name: nameIn(one) }));
  }
  const inner = [called, custom, toolSpec].find(isObject);
  if (typeof type === 'string') return [{ type, name: nameIn(inner ?? tool) }];
  if (inner !== undefined) return [{ type: 'function', name: nameIn(inner) }];
  // Tools of Anthropic have no type, those of Gemini are named by their member: `googleSearch`.
  if (nameIn(tool) !== null) return [{ type: 'function', name: nameIn(tool) }];
  return Object.keys(tool).map((name) => ({ type: name, name: null }));
}

function nameIn(value: unknown): string | null {
  return isObject(value) && typeof value.name === 'string' ? value.name : null;
}
