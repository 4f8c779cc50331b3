/** Knows the settings of the inference side as a group. */
import type { Values } from './variables.ts';

export interface InferenceSettings {
  /** 0 takes a free one; null when unset. */
  readonly port: number | null;
  readonly connectionsMax: number;
  readonly bodyBytesMax: number;
  /** How long what is cached stays good while the database is away. */
  readonly graceSeconds: number;
  /** Requests may name saved configs only. */
  readonly blocksInlineConfigs: boolean;
  /** In lower case, with a dash at the end. */
  readonly headerAliases: readonly string[];
}

const mebibyte = 1024 * 1024;

export function inferenceSettings(values: Values): InferenceSettings {
  return {
    port: values.GATEWRIGHT_INFERENCE_PORT ?? null,
    connectionsMax: values.GATEWRIGHT_INFERENCE_CONNECTIONS_MAX,
    bodyBytesMax: values.GATEWRIGHT_INFERENCE_BODY_MIB_MAX * mebibyte,
    graceSeconds: values.GATEWRIGHT_INFERENCE_GRACE_SECONDS,
    blocksInlineConfigs: values.BLOCK_INLINE_CONFIG,
    headerAliases: values.HEADER_ALIAS_PREFIXES ?? [],
  };
}
