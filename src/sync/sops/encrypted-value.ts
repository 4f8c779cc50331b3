/** Knows the form in which sops writes an encrypted value, and opens one. */
import { createDecipheriv } from 'node:crypto';

const form =
  /^ENC\[AES256_GCM,data:([A-Za-z0-9+/]+=*),iv:([A-Za-z0-9+/]+=*),tag:([A-Za-z0-9+/]+=*),type:(str|int|float|bool|bytes|time|comment)\]$/;
const tagBytes = 16;
/** What sops writes; earlier ones of it took what is usual. */
const ivLengths = [32, 12];

export interface EncryptedValue {
  readonly data: Buffer;
  readonly iv: Buffer;
  readonly tag: Buffer;
  readonly type: 'str' | 'int' | 'float' | 'bool' | 'bytes' | 'time' | 'comment';
}

/** Whether a text was meant as an encrypted value, whole or not. */
export function looksEncrypted(text: string): boolean {
  return text.startsWith('ENC[');
}

/** Undefined for what is none: a tag that is cut would prove little. */
export function readEncrypted(text: string): EncryptedValue | undefined {
  const [, data = '', iv = '', tag = '', type] = form.exec(text) ?? [];
  if (type === undefined) return undefined;
  const value = {
    data: Buffer.from(data, 'base64'),
    iv: Buffer.from(iv, 'base64'),
    tag: Buffer.from(tag, 'base64'),
    type: type as EncryptedValue['type'],
  };
  const isWhole = value.tag.length === tagBytes && ivLengths.includes(value.iv.length);
  return isWhole ? value : undefined;
}

/**
 * @param boundTo what the value was encrypted for: `crm:token:`, or the date of the last change
 * @returns undefined when key, text or place is another one
 */
export function openEncrypted(
  { data, iv, tag }: EncryptedValue,
  dataKey: Buffer,
  boundTo: string,
): Buffer | undefined {
  const decipher = createDecipheriv('aes-256-gcm', dataKey, iv, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(boundTo));
  decipher.setAuthTag(tag);
  try {
    return Buffer.concat([decipher.update(data), decipher.final()]);
  } catch {
    return undefined;
  }
}
