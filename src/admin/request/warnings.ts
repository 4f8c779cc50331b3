/** Sends warnings about accepted fields without effect as the header `warning` of a response. */
import { Reply } from '../../http/routes/route.ts';
import type { Fault } from '../../model/wire/fault.ts';
import { faultText } from '../../model/wire/validation-error.ts';

const warningsListedMax = 20;

/** `299 gatewright "config.targets[0].aws_region: has no effect in this gateway"`. */
export function withWarnings<Receipt>(
  receipt: Receipt,
  warnings: readonly Fault[],
): Receipt | Reply<Receipt> {
  if (warnings.length === 0) return receipt;
  // Paths of warnings consist of field names of this program, which need no quoting.
  const lines = warnings
    .slice(0, warningsListedMax)
    .map((warning) => `299 gatewright "${faultText(warning)}"`);
  return new Reply(200, receipt, { warning: lines.join(', ') });
}
