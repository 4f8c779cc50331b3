/** Computes the settings of a deployment after an update or an apply, and converts them for manifests. */
import { isDeepStrictEqual } from 'node:util';
import type { DeploymentAuthSettings, DeploymentAuthSettingsUpdate } from './gateway-deployment.ts';

type ScalarField =
  | 'gateway_base_url'
  | 'mcp_gateway_base_url'
  | 'is_dataservice_hosted'
  | 'is_playground_proxy_allowed';
const scalarFields: readonly ScalarField[] = [
  'gateway_base_url',
  'mcp_gateway_base_url',
  'is_dataservice_hosted',
  'is_playground_proxy_allowed',
];

/** Settings as sent, without nulls. */
export type PresentSettings = {
  [K in keyof DeploymentAuthSettings]?: NonNullable<DeploymentAuthSettings[K]>;
};

/** The stored settings without the workspaces, which have a table of their own. */
export type StoredSettings = Pick<
  PresentSettings,
  ScalarField | 'jwt_subs_allowed' | 'jwt_sub_workspace_mapping'
> & {
  /** The audience declared by a manifest, with ids of workspaces; kept until another update changes the audience. */
  readonly declared?: DeclaredAudience;
};

/** The fields that determine which workspaces and subjects a deployment serves. */
type DeclaredAudience = Pick<PresentSettings, AudienceField>;
type AudienceField = Exclude<keyof PresentSettings, ScalarField>;
const audienceFields: readonly AudienceField[] = [
  'workspaces_allowed',
  'jwt_subs_allowed',
  'jwt_sub_workspace_mapping',
  'allow_all_workspaces',
];

/** The ids of the served workspaces, or all workspaces. */
interface ServedWorkspaces {
  readonly isOpen: boolean;
  readonly workspaceIds: readonly string[];
}

export interface DeploymentState {
  readonly settings: StoredSettings;
  readonly served: ServedWorkspaces;
}

/** The state of a deployment without settings. */
export const initialDeploymentState: DeploymentState = {
  settings: {},
  served: { isOpen: true, workspaceIds: [] },
};

/**
 * Applies an update. Its lists are added to the stored ones, or replace them; `idOf` resolves the
 * reference of a workspace to its id.
 */
export function applySettings(
  { settings, served }: DeploymentState,
  update: DeploymentAuthSettingsUpdate,
  replaces: boolean,
  idOf: (reference: string) => string,
): DeploymentState {
  const mapping = update.jwt_sub_workspace_mapping;
  const isReplaced = (list: unknown) => list === null || (replaces && list !== undefined);
  const workspaceIds = merged(
    isReplaced(update.workspaces_allowed) ? [] : served.workspaceIds,
    [...(update.workspaces_allowed ?? []), ...Object.values(mapping ?? {})].map(idOf),
    (update.remove_workspaces_allowed ?? []).map(idOf),
  );
  const subjects = merged(
    isReplaced(update.jwt_subs_allowed) ? [] : (settings.jwt_subs_allowed ?? []),
    [...(update.jwt_subs_allowed ?? []), ...Object.keys(mapping ?? {})],
    update.remove_subs_allowed ?? [],
  );
  const removed = new Set(update.remove_subs_allowed ?? []);
  const before = isReplaced(mapping) ? {} : settings.jwt_sub_workspace_mapping;
  const mappings = Object.entries({ ...before, ...mapping }).filter(([sub]) => !removed.has(sub));
  const scalars = scalarFields.flatMap((field) => {
    const value = update[field] === undefined ? settings[field] : update[field];
    return value === undefined || value === null ? [] : [[field, value] as const];
  });
  return {
    settings: {
      ...Object.fromEntries(scalars),
      jwt_subs_allowed: subjects,
      jwt_sub_workspace_mapping: Object.fromEntries(mappings),
    },
    served: applyAudience(served, workspaceIds, update),
  };
}

/** Listing a workspace closes the deployment to all others; sending an empty list opens it to all. */
function applyAudience(
  before: ServedWorkspaces,
  workspaceIds: readonly string[],
  { allow_all_workspaces: isOpen, workspaces_allowed: allowed }: DeploymentAuthSettingsUpdate,
): ServedWorkspaces {
  if (isOpen === true) return { isOpen: true, workspaceIds: [] };
  if (workspaceIds.length > 0) return { isOpen: false, workspaceIds };
  if (isOpen === false) return { isOpen: false, workspaceIds };
  return { isOpen: allowed !== undefined || isOpen === null || before.isOpen, workspaceIds };
}

function merged(
  before: readonly string[],
  added: readonly string[],
  removed: readonly string[],
): string[] {
  const excluded = new Set(removed);
  return [...new Set([...before, ...added])].filter((item) => !excluded.has(item));
}

/**
 * Like {@link applySettings}, for a manifest: each field replaces the stored one as a whole, null removes
 * it, and workspaces are given by id.
 */
export function applyDeclaredSettings(
  before: DeploymentState,
  update: DeploymentAuthSettingsUpdate | null,
): DeploymentState {
  const { remove_workspaces_allowed: _, remove_subs_allowed: __, ...changed } = update ?? {};
  const all = update === null ? {} : { ...declarableSettings(before), ...changed };
  const set = Object.entries(all).filter(([, value]) => value !== null && value !== undefined);
  const whole: PresentSettings = Object.fromEntries(set);
  const { settings, served } = applySettings(initialDeploymentState, whole, true, (id) => id);
  return { settings: { ...settings, declared: audienceOf(whole) }, served };
}

function audienceOf(settings: PresentSettings): DeclaredAudience {
  return Object.fromEntries(
    audienceFields.flatMap((field) => (field in settings ? [[field, settings[field]]] : [])),
  );
}

/** Keeps the declaration of the manifest unless the update has changed the audience. */
export function retainDeclaration(
  before: DeploymentState,
  after: DeploymentState,
): DeploymentState {
  const { declared } = before.settings;
  const audience = ({ settings, served }: DeploymentState) => [audienceOf(settings), served];
  const isSame = isDeepStrictEqual(audience(before), audience(after));
  if (declared === undefined || !isSame) return after;
  return { ...after, settings: { ...after.settings, declared } };
}

/** Returns settings that would produce the same state: those of the manifest, or the complete ones. */
export function declarableSettings({ settings, served }: DeploymentState): PresentSettings {
  const { declared, jwt_subs_allowed: subjects = [], ...others } = settings;
  const { jwt_sub_workspace_mapping: mapping = {}, ...scalars } = others;
  if (declared !== undefined) return { ...scalars, ...declared };
  const isClosed = !served.isOpen && served.workspaceIds.length === 0;
  return {
    ...scalars,
    ...(served.workspaceIds.length > 0 ? { workspaces_allowed: [...served.workspaceIds] } : {}),
    ...(subjects.length > 0 ? { jwt_subs_allowed: subjects } : {}),
    ...(Object.keys(mapping).length > 0 ? { jwt_sub_workspace_mapping: mapping } : {}),
    ...(isClosed ? { allow_all_workspaces: false } : {}),
  };
}

/** Replaces the references of workspaces; those for which `idOf` returns undefined are dropped. */
export function mapWorkspaceReferences<Auth extends DeploymentAuthSettings>(
  settings: Auth,
  idOf: (reference: string) => string | undefined,
): Auth {
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
