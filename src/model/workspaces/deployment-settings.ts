/** Knows what becomes of the settings of a deployment by an update, and how a manifest says them. */
import { isDeepStrictEqual } from 'node:util';
import type { AuthSettings, AuthSettingsUpdate } from './gateway-deployment.ts';

type Plain =
  | 'gateway_base_url'
  | 'mcp_gateway_base_url'
  | 'is_dataservice_hosted'
  | 'is_playground_proxy_allowed';
const plainFields: readonly Plain[] = [
  ...(['gateway_base_url', 'mcp_gateway_base_url'] as const),
  ...(['is_dataservice_hosted', 'is_playground_proxy_allowed'] as const),
];

/** As said, without nulls. */
export type SaidSettings = { [K in keyof AuthSettings]?: NonNullable<AuthSettings[K]> };

/** What is kept of the settings, workspaces apart. */
export type StoredSettings = Pick<
  SaidSettings,
  Plain | 'jwt_subs_allowed' | 'jwt_sub_workspace_mapping'
> & {
  /** What a manifest says of whom it serves, with ids of workspaces, for as long as nobody else changes what comes of it. */
  readonly declared?: SaidAudience;
};

/** Whom it serves, in the fields by which that is said. */
type SaidAudience = Pick<SaidSettings, Audience>;
type Audience = Exclude<keyof SaidSettings, Plain>;
const audienceFields: readonly Audience[] = [
  ...(['workspaces_allowed', 'jwt_subs_allowed', 'jwt_sub_workspace_mapping'] as const),
  'allow_all_workspaces',
];

/** Which workspaces a deployment serves: ids, and whether it serves all. */
interface Served {
  readonly isOpen: boolean;
  readonly workspaceIds: readonly string[];
}

export interface Settled {
  readonly settings: StoredSettings;
  readonly served: Served;
}

/** Of a deployment that has been told nothing. */
export const unsettled: Settled = {
  settings: {},
  served: { isOpen: true, workspaceIds: [] },
};

/**
 * The settings after an update whose lists are added to what is stored, or replace it; `idOf` finds the
 * id of a workspace that is named.
 */
export function settingsAfter(
  { settings, served }: Settled,
  sent: AuthSettingsUpdate,
  replaces: boolean,
  idOf: (reference: string) => string,
): Settled {
  const mapping = sent.jwt_sub_workspace_mapping;
  const isReplaced = (list: unknown) => list === null || (replaces && list !== undefined);
  const workspaceIds = merged(
    isReplaced(sent.workspaces_allowed) ? [] : served.workspaceIds,
    [...(sent.workspaces_allowed ?? []), ...Object.values(mapping ?? {})].map(idOf),
    (sent.remove_workspaces_allowed ?? []).map(idOf),
  );
  const subjects = merged(
    isReplaced(sent.jwt_subs_allowed) ? [] : (settings.jwt_subs_allowed ?? []),
    [...(sent.jwt_subs_allowed ?? []), ...Object.keys(mapping ?? {})],
    sent.remove_subs_allowed ?? [],
  );
  const removed = new Set(sent.remove_subs_allowed ?? []);
  const before = isReplaced(mapping) ? {} : settings.jwt_sub_workspace_mapping;
  const mappings = Object.entries({ ...before, ...mapping }).filter(([sub]) => !removed.has(sub));
  const plain = plainFields.flatMap((field) => {
    const value = sent[field] === undefined ? settings[field] : sent[field];
    return value === undefined || value === null ? [] : [[field, value] as const];
  });
  return {
    settings: {
      ...Object.fromEntries(plain),
      jwt_subs_allowed: subjects,
      jwt_sub_workspace_mapping: Object.fromEntries(mappings),
    },
    served: servedAfter(served, workspaceIds, sent),
  };
}

/** Naming a workspace closes a deployment to others; an empty list that is sent opens it. */
function servedAfter(
  before: Served,
  workspaceIds: readonly string[],
  { allow_all_workspaces: isOpen, workspaces_allowed: named }: AuthSettingsUpdate,
): Served {
  if (isOpen === true) return { isOpen: true, workspaceIds: [] };
  if (workspaceIds.length > 0) return { isOpen: false, workspaceIds };
  if (isOpen === false) return { isOpen: false, workspaceIds };
  return { isOpen: named !== undefined || isOpen === null || before.isOpen, workspaceIds };
}

function merged(
  before: readonly string[],
  added: readonly string[],
  removed: readonly string[],
): string[] {
  const gone = new Set(removed);
  return [...new Set([...before, ...added])].filter((one) => !gone.has(one));
}

/** As {@link settingsAfter}, in the name of a manifest: each field that is sent is whole, null takes it away, and workspaces are ids. */
export function declaredAfter(before: Settled, sent: AuthSettingsUpdate | null): Settled {
  const { remove_workspaces_allowed: _, remove_subs_allowed: __, ...said } = sent ?? {};
  const all = sent === null ? {} : { ...saidOf(before), ...said };
  const set = Object.entries(all).filter(([, value]) => value !== null && value !== undefined);
  const whole: SaidSettings = Object.fromEntries(set);
  const { settings, served } = settingsAfter(unsettled, whole, true, (id) => id);
  return { settings: { ...settings, declared: audienceOf(whole) }, served };
}

function audienceOf(settings: SaidSettings): SaidAudience {
  return Object.fromEntries(
    audienceFields.flatMap((field) => (field in settings ? [[field, settings[field]]] : [])),
  );
}

/** With what a manifest says, unless an update changes whom it serves. */
export function stillDeclared(before: Settled, after: Settled): Settled {
  const { declared } = before.settings;
  const audience = ({ settings, served }: Settled) => [audienceOf(settings), served];
  const isSame = isDeepStrictEqual(audience(before), audience(after));
  if (declared === undefined || !isSame) return after;
  return { ...after, settings: { ...after.settings, declared } };
}

/** The settings that would make the same again: in the words of the manifest, or by all that there is. */
export function saidOf({ settings, served }: Settled): SaidSettings {
  const { declared, jwt_subs_allowed: subjects = [], ...others } = settings;
  const { jwt_sub_workspace_mapping: mapping = {}, ...plain } = others;
  if (declared !== undefined) return { ...plain, ...declared };
  const isClosed = !served.isOpen && served.workspaceIds.length === 0;
  return {
    ...plain,
    ...(served.workspaceIds.length > 0 ? { workspaces_allowed: [...served.workspaceIds] } : {}),
    ...(subjects.length > 0 ? { jwt_subs_allowed: subjects } : {}),
    ...(Object.keys(mapping).length > 0 ? { jwt_sub_workspace_mapping: mapping } : {}),
    ...(isClosed ? { allow_all_workspaces: false } : {}),
  };
}

/** The same settings with other words for its workspaces; those that `idOf` has none for are left out. */
export function withWorkspaces<S extends AuthSettings>(
  settings: S,
  idOf: (reference: string) => string | undefined,
): S {
  const { workspaces_allowed: allowed, jwt_sub_workspace_mapping: mapping } = settings;
  const mapped = Object.entries(mapping ?? {}).flatMap(([sub, reference]) => {
    const id = idOf(reference);
    return id === undefined ? [] : [[sub, id] as const];
  });
  return {
    ...settings,
    ...(allowed ? { workspaces_allowed: allowed.flatMap((name) => idOf(name) ?? []) } : {}),
    ...(mapping ? { jwt_sub_workspace_mapping: Object.fromEntries(mapped) } : {}),
  };
}
