/** Decides which tools, prompts and resources of a server its callers may see and use. */
import { isObject } from '../../model/json/read-object.ts';
import type { McpCapabilityType } from '../../model/mcp/mcp-integration.ts';
import type { ClientMessage, RpcObject } from './read-messages.ts';
import { UriSet } from './uri-set.ts';

/** A capability as the database knows it. */
export interface KnownCapability {
  readonly type: McpCapabilityType;
  readonly name: string;
  readonly isEnabled: boolean;
  /** Addresses that the server has reported; null before the first discovery. */
  readonly uri: string | null;
  readonly uriTemplate: string | null;
}

/** A capability as a message names it: by name, or a resource by its address. */
export interface NamedCapability {
  readonly type: 'tool' | 'prompt' | 'resource';
  readonly name: string;
}

/** Members of results that list capabilities, with the type of their items. */
export const listedTypes = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'resource_template',
} as const;
const listNames = Object.keys(listedTypes) as (keyof typeof listedTypes)[];

const listMethods: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
]);

export function isListMethod(method: string): boolean {
  return listMethods.has(method);
}

/** Notifications of changed lists, with the types of their items. */
const notices = {
  'notifications/tools/list_changed': ['tool'],
  'notifications/prompts/list_changed': ['prompt'],
  'notifications/resources/list_changed': ['resource', 'resource_template'],
} as const satisfies Record<string, readonly McpCapabilityType[]>;

export type ListNotice = keyof typeof notices;

/** The rules by which callers see lists. */
interface ListRules {
  readonly capabilities: CapabilityRules;
  readonly pins: { visibleMark(type: McpCapabilityType): string };
}

/** Notifications of the lists that callers see differently after a change of the rules. */
export function listNotices(before: ListRules, after: ListRules): ListNotice[] {
  if (before === after) return [];
  const methods = Object.keys(notices) as ListNotice[];
  const marksOf = ({ capabilities, pins }: ListRules, type: McpCapabilityType): string[] => [
    capabilities.hiddenNames(type),
    pins.visibleMark(type),
  ];
  return methods.filter((method) =>
    notices[method].some((type) => `${marksOf(before, type)}` !== `${marksOf(after, type)}`),
  );
}

/** The capability that a message of a client names; null for none. */
export function namedCapability({ method, params }: ClientMessage): NamedCapability | null {
  const { name, uri, ref } = params;
  switch (method) {
    case 'tools/call':
      return typeof name === 'string' ? { type: 'tool', name } : null;
    case 'prompts/get':
      return typeof name === 'string' ? { type: 'prompt', name } : null;
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return typeof uri === 'string' ? { type: 'resource', name: uri } : null;
    case 'completion/complete':
      return isObject(ref) ? referencedCapability(ref) : null;
    default:
      return null;
  }
}

/** Servers go by the type, so the member of the other type is not looked at. */
function referencedCapability({ type, name, uri }: RpcObject): NamedCapability | null {
  if (type === 'ref/prompt' && typeof name === 'string') return { type: 'prompt', name };
  if (type === 'ref/resource' && typeof uri === 'string') return { type: 'resource', name: uri };
  return null;
}

/** The parameter that names a capability, by method. */
const namingMembers: Readonly<Record<string, string>> = {
  'completion/complete': 'ref',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'resources/subscribe': 'uri',
  'resources/unsubscribe': 'uri',
  'tools/call': 'name',
};

/** Whether a message that names no capability has a name all the same, in a form that only a lenient server reads. */
export function hasUnreadableName({ method, params }: ClientMessage): boolean {
  const member = Object.hasOwn(namingMembers, method) ? namingMembers[method]! : null;
  return member !== null && params[member] !== undefined;
}

/** Characters without a form of their own: joiners, tags, selectors, soft hyphens. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/gu;

/** Without letter case, compatibility forms, blanks and invisible characters. */
function foldedCapability(name: string): string {
  return name.normalize('NFKC').replace(invisible, '').toLowerCase().trim();
}

const lookedUpMax = 5_000;

export class CapabilityRules {
  /** Whether anything is disabled. */
  readonly isRestricted: boolean;
  /** Disabled resources whose address is unknown, so that reading them cannot be refused by address. */
  readonly unaddressed: readonly string[];
  readonly #disabled: ReadonlyMap<McpCapabilityType, ReadonlySet<string>>;
  readonly #disabledUris: UriSet;
  readonly #enabledUris: ReadonlySet<string>;
  /** Names with their type: `tool x`. */
  readonly #enabled: ReadonlySet<string>;
  readonly #foldedNames: ReadonlySet<string>;
  /** Whether names that are not known are disabled ones in another spelling, by type and name. */
  readonly #lookedUp = new Map<string, boolean>();

  constructor(capabilities: readonly KnownCapability[]) {
    const disabled = capabilities.filter(({ isEnabled }) => !isEnabled);
    this.isRestricted = disabled.length > 0;
    const enabled = capabilities.filter(({ isEnabled }) => isEnabled);
    this.#enabled = new Set(enabled.map(({ type, name }) => `${type} ${name}`));
    this.#foldedNames = new Set(
      disabled.map(({ type, name }) => `${type} ${foldedCapability(name)}`),
    );
    this.#disabled = new Map(
      [...Map.groupBy(disabled, ({ type }) => type)].map(([type, some]) => [
        type,
        new Set(some.map(({ name }) => name)),
      ]),
    );
    const addresses = disabled.filter(
      ({ type }) => type === 'resource' || type === 'resource_template',
    );
    this.#disabledUris = new UriSet(
      addresses.flatMap(({ name, uri, uriTemplate }) =>
        [name, uri, uriTemplate].filter((one) => one?.includes(':') === true),
      ) as string[],
    );
    this.unaddressed = addresses
      .filter(({ name, uri, uriTemplate }) => (uri ?? uriTemplate) === null && !name.includes(':'))
      .map(({ name }) => name);
    this.#enabledUris = new Set(
      capabilities.flatMap(({ isEnabled, uri }) => (isEnabled && uri !== null ? [uri] : [])),
    );
  }

  /** Whether anything of the type is disabled. */
  restricts(type: NamedCapability['type']): boolean {
    const isOwn = this.#disabled.has(type);
    return type === 'resource' ? isOwn || this.#disabled.has('resource_template') : isOwn;
  }

  /** Returns the names that lists leave out, as one text for comparison. */
  hiddenNames(type: McpCapabilityType): string {
    const names = [...(this.#disabled.get(type) ?? [])].toSorted();
    // Resources with an entry of their own are listed although a template that covers them is disabled.
    if (type === 'resource_template' && names.length > 0) names.push(...this.#enabledUris);
    return JSON.stringify(names);
  }

  isDisabled({ type, name }: NamedCapability): boolean {
    if (!this.isRestricted) return false;
    if (type !== 'resource') return this.#isDisabledName(type, name);
    if (this.#disabled.get('resource')?.has(name) === true) return true;
    // A resource with an entry of its own may also match a disabled template.
    if (this.#enabledUris.has(name)) return false;
    return this.#disabledUris.has(name);
  }

  /** Whether a tool or prompt of exactly this name is known and enabled. */
  isEnabled({ type, name }: NamedCapability): boolean {
    return this.#enabled.has(`${type} ${name}`);
  }

  /** A server may read another spelling as the disabled name, unless that is the name of an enabled one. */
  #isDisabledName(type: 'tool' | 'prompt', name: string): boolean {
    if (this.#disabled.get(type)?.has(name) === true) return true;
    const key = `${type} ${name}`;
    if (this.#enabled.has(key)) return false;
    const known = this.#lookedUp.get(key);
    if (known !== undefined) return known;
    const isDisabled = this.#foldedNames.has(`${type} ${foldedCapability(name)}`);
    if (this.#lookedUp.size < lookedUpMax) this.#lookedUp.set(key, isDisabled);
    return isDisabled;
  }

  /** Whether a text anywhere in the value is the address of a disabled resource. */
  namesDisabledUri(value: unknown): boolean {
    if (!this.isRestricted) return false;
    if (typeof value === 'string') return this.isDisabled({ type: 'resource', name: value });
    if (typeof value !== 'object' || value === null) return false;
    return Object.values(value).some((item) => this.namesDisabledUri(item));
  }

  /** Removes disabled items from the lists of a result; the same object when nothing is removed. */
  filter(result: RpcObject): RpcObject {
    if (!this.isRestricted) return result;
    let changed: Record<string, unknown> | null = null;
    for (const list of listNames) {
      const items = result[list];
      if (!Array.isArray(items)) continue;
      const rest = items.filter((item) => !this.#hides(listedTypes[list], item));
      if (rest.length < items.length) changed = { ...(changed ?? result), [list]: rest };
    }
    return changed ?? result;
  }

  #hides(type: McpCapabilityType, item: unknown): boolean {
    if (!isObject(item)) return false;
    const { name, uri, uriTemplate } = item;
    const names = this.#disabled.get(type);
    if ([name, uri, uriTemplate].some((one) => typeof one === 'string' && names?.has(one))) {
      return true;
    }
    return typeof uri === 'string' && this.isDisabled({ type: 'resource', name: uri });
  }
}
