/** Defines the documents that contain secrets among other values: configs, and the checks of guardrails. */
import type { ConfigDocument } from '../model/configs/config.ts';
import { mapConfigSecrets, secretDestinations } from '../model/configs/config-secrets.ts';
import {
  type CheckList,
  checkSecretPlaces,
  mapCheckSecrets,
} from '../model/guardrails/check-secrets.ts';
import { levelsKey } from '../model/manifests/path-patterns.ts';
import { pairItems } from '../model/secrets/item-pairs.ts';
import { DocumentSecrets } from './document-secrets.ts';

export const configSecretsOf = new DocumentSecrets<ConfigDocument>({
  contextOf: (id) => `configs|${id}|config`,
  map: mapConfigSecrets,
  destinations: secretDestinations,
  pair: (sent, masked) => pairItems(sent, masked, levelsKey),
  empty: {},
});

export const guardrailSecretsOf = new DocumentSecrets<CheckList>({
  contextOf: (id) => `guardrails|${id}|checks`,
  map: mapCheckSecrets,
  destinations: checkSecretPlaces,
  pair: (sent, masked) => pairItems({ ...sent }, { ...masked }, 'checks'),
  empty: { checks: [] },
});
