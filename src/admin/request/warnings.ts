/** Sends warnings about accepted fields without effect with a response. */
import { Reply } from '../../http/routes/route.ts';
import type { Fault } from '../../model/wire/fault.ts';
import { warningHeader } from '../../model/wire/warning-header.ts';

export function withWarnings<Receipt>(
  receipt: Receipt,
  warnings: readonly Fault[],
): Receipt | Reply<Receipt> {
  const warning = warningHeader(warnings);
  return warning === null ? receipt : new Reply(200, receipt, { warning });
}
