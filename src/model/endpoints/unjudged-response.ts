/** States which responses contain something that guardrails cannot judge. */
import type { ListedEndpoint } from './endpoint.ts';

/** A file is returned as it is; sound and numbers are what a model has made of texts. */
export type UnjudgedResponse = 'file' | 'numbers' | 'sound';

/** Null for a response whose texts are judged, and for a description of an object, which contains no text of a model. */
export function unjudgedResponse({
  method,
  path,
  metering,
  owned,
  responseTexts,
}: ListedEndpoint): UnjudgedResponse | null {
  if (responseTexts !== null) return null;
  if (method === 'GET') {
    return owned !== null && /\/(?:content|results|output|url)$/.test(path) ? 'file' : null;
  }
  if (owned !== null || metering === 'nothing') return null;
  return metering === 'speech' ? 'sound' : 'numbers';
}
