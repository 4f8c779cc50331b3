/** Writes warnings about accepted fields without effect as the value of the header `warning`. */
import type { Fault } from './fault.ts';
import { faultText } from './validation-error.ts';

const warningsListedMax = 20;

/** `299 gatewright "config.targets[0].aws_region: has no effect in this gateway"`; null for no warnings. */
export function warningHeader(warnings: readonly Fault[]): string | null {
  if (warnings.length === 0) return null;
  // Paths of warnings consist of field names of this program, which need no quoting.
  return warnings
    .slice(0, warningsListedMax)
    .map((warning) => `299 gatewright "${faultText(warning)}"`)
    .join(', ');
}
