/** Parses and decrypts the encrypted values of sops. */
import { createDecipheriv } from 'node:crypto';

const form =
  /^ENC\[AES256_GCM,data:([A-Za-z0-9+/]+=*),iv:([A-Za-z0-9+/]+=*),tag:([A-Za-z0-9+/]+=*),type:(str|int|float|bool|bytes|time|comment)\]$/;
const tagBytes = 16;
/** Lengths that current and earlier versions of sops write. */
const ivLengths = [32, 12];

export interface EncryptedValue {
  readonly data: Buffer;
  readonly iv: Buffer;
  readonly tag: Buffer;
  readonly type: 'str' | 'int' | 'float' | 'bool' | 'bytes' | 'time' | 'comment';
}

/** Returns whether a text was meant as an encrypted value, complete or not. */
export function looksEncrypted(text: string): boolean {
  return text.startsWith('ENC[');
}

/** Returns undefined for other texts; a truncated tag would prove little. */
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
 * @param boundTo the additional data: `crm:token:`, or the date of the last change
 * @returns undefined when key, text or additional data do not match
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
