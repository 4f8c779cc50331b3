/** Says how a provider does, from the share of its requests that failed. */
import { State } from '../../parts/text.tsx';
import type { ProviderFigures } from './figures.ts';

const failingShare = 0.5;
const degradedShare = 0.05;

export function Health({ figures: { requests, errors } }: { readonly figures: ProviderFigures }) {
  if (requests === 0) return <State tone="quiet">no requests</State>;
  const share = errors / requests;
  if (share >= failingShare) return <State tone="bad">failing</State>;
  return share >= degradedShare ? (
    <State tone="warning">errors</State>
  ) : (
    <State tone="good">healthy</State>
  );
}

export function errorsText({ requests, errors }: ProviderFigures): string {
  if (requests === 0) return '–';
  return `${errors} (${((errors / requests) * 100).toFixed(1)} %)`;
}
