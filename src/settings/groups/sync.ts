/** Groups the settings of the sync of sources. */
import type { Secret } from '../../secret.ts';
import type { secretIn } from '../reading/secrets.ts';
import type { driftModes } from '../variables/forms.ts';
import type { SettingValues } from '../variables/variables.ts';
import { type GitSettings, gitSettings } from './git.ts';
import { commitStatusSettings, notificationSettings } from './notify.ts';
import { proposalSettings } from './proposals.ts';
import { type VaultSettings, vaultSettings } from './vault.ts';

/** Reaction of a watched source to changes that others make on the server. */
export type DriftMode = (typeof driftModes)[number];

/** Identifies an object in a cluster. */
interface KubernetesName {
  readonly namespace: string;
  readonly name: string;
}

export interface SyncSettings {
  /** Path of credentials.json, or null when unset. */
  readonly credentialsFile: string | null;
  readonly owner: string;
  /** Folder of files that `secretOutput` may write, or null when unset. */
  readonly secretsDirectory: string | null;
  /** Access to Kubernetes Secrets and ConfigMaps. */
  readonly kubernetes: {
    /** Empty when unset. */
    readonly namespaces: readonly string[];
    /** Path of a kubeconfig; null for the service account of the pod. */
    readonly configFile: string | null;
    /** ConfigMap that publishes the sync status; null for none. */
    readonly status: KubernetesName | null;
    /** Lease required for leadership; null for none. */
    readonly lease: KubernetesName | null;
  };
  /** How long a watched source must stay unchanged before removed resources are deleted. */
  readonly pruneSettleSeconds: number;
  /** Interval between checks of a watched source; null for a default by the kind of source. */
  readonly intervalSeconds: number | null;
  readonly driftMode: DriftMode;
  /** Interval between comparisons of an unchanged source with the server. */
  readonly driftSeconds: number;
  /** Port of the daemon's listener; 0 selects a free port, null opens none. */
  readonly port: number | null;
  /** How long source or server may be unreachable before the daemon is not ready. */
  readonly readySeconds: number;
  readonly webhookSecret: Secret | undefined;
  /** Undefined when no commit status is written. */
  readonly commitStatus: ReturnType<typeof commitStatusSettings>;
  /** Undefined when notifications are off. */
  readonly notification: ReturnType<typeof notificationSettings>;
  /** Undefined when changes are offered as patches only. */
  readonly proposals: ReturnType<typeof proposalSettings>;
  /** Environment of the source: `environments/NAME/`. */
  readonly environment: string | null;
  /** Names and prefixes (`CRM_*`) of variables that manifests may read in addition to `GW_VAR_*`. */
  readonly variables: readonly string[];
  /** Vault or OpenBao and the paths that manifests may use; null when unset. */
  readonly vault: VaultSettings | null;
  /** Private age keys for sources encrypted with sops. */
  readonly ageKey: Secret<readonly string[]> | undefined;
  readonly git: GitSettings;
}

export function syncSettings(
  values: SettingValues,
  secretOf: ReturnType<typeof secretIn>,
): SyncSettings {
  return {
    credentialsFile: values.GATEWRIGHT_CREDENTIALS ?? null,
    owner: values.GATEWRIGHT_OWNER,
    secretsDirectory: values.GATEWRIGHT_SECRETS_DIR ?? null,
    kubernetes: {
      namespaces: values.GATEWRIGHT_KUBERNETES_NAMESPACES ?? [],
      configFile: values.GATEWRIGHT_KUBERNETES_CONFIG ?? null,
      status: values.GATEWRIGHT_KUBERNETES_STATUS ?? null,
      lease: values.GATEWRIGHT_KUBERNETES_LEASE ?? null,
    },
    pruneSettleSeconds: values.GATEWRIGHT_PRUNE_SETTLE_SECONDS,
    intervalSeconds: values.GATEWRIGHT_SYNC_INTERVAL_SECONDS ?? null,
    driftMode: values.GATEWRIGHT_SYNC_DRIFT,
    driftSeconds: values.GATEWRIGHT_SYNC_DRIFT_SECONDS,
    port: values.GATEWRIGHT_SYNC_PORT ?? null,
    readySeconds: values.GATEWRIGHT_SYNC_READY_SECONDS,
    webhookSecret: secretOf('GATEWRIGHT_SYNC_WEBHOOK_SECRET'),
    commitStatus: commitStatusSettings(values, secretOf),
    notification: notificationSettings(values, secretOf),
    proposals: proposalSettings(values, secretOf),
    environment: values.GATEWRIGHT_ENVIRONMENT ?? null,
    variables: values.GATEWRIGHT_SYNC_VARIABLES ?? [],
    vault: vaultSettings(values),
    ageKey: secretOf('GATEWRIGHT_AGE_KEY'),
    git: gitSettings(values, secretOf),
  };
}
