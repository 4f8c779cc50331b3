/** Builds errors in the format of Google. */

import { rpcStatus } from '../../model/services/rpc-status.ts';
import type { Json } from '../documents/document-node.ts';
import type { ProviderFault } from '../translation/translation.ts';

export function geminiError({ message, status }: ProviderFault): Json {
  const code = status < 400 ? 500 : status;
  return { error: { code, message, status: rpcStatus(code) } };
}
