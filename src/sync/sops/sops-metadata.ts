/** Reads the metadata of a sops file: recipients, encryption rules and MAC. */
import { RE2JS } from 're2js';
import { z } from 'zod';
import { type EncryptedValue, readEncrypted } from './encrypted-value.ts';

/** Limit of an age envelope; a hostile one would cost a multiplication for each line. */
const envelopeLengthMax = 8 * 1024;
const recipientsMax = 100;

/** A fault of an encrypted file and its fix. */
export interface SopsFault {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
}

export interface SopsMetadata {
  /** The data key, encrypted for each age recipient. */
  readonly recipients: readonly { readonly recipient: string; readonly envelope: string }[];
  readonly mac: EncryptedValue;
  /** As written; the MAC is bound to this text. */
  readonly lastModified: string;
  readonly macOnlyEncrypted: boolean;
  /** Returns whether the values below these keys are encrypted. */
  readonly isEncrypted: (keys: readonly string[]) => boolean;
}

/** Suffix of keys with plain values in files without a rule. */
const suffixByDefault = '_unencrypted';

const text = z.string().nullish();
const group = z.looseObject({
  age: z.array(z.looseObject({ recipient: z.string(), enc: z.string() })).nullish(),
});
const schema = group.extend({
  mac: z.string(),
  lastmodified: z.string(),
  mac_only_encrypted: z.boolean().nullish(),
  key_groups: z.array(group).nullish(),
  unencrypted_suffix: text,
  encrypted_suffix: text,
  unencrypted_regex: text,
  encrypted_regex: text,
});

/** Other holders of the data key, as sops names them. */
const otherKeys = ['pgp', 'kms', 'gcp_kms', 'hckms', 'azure_kv', 'hc_vault'];
const commentRules = ['encrypted_comment_regex', 'unencrypted_comment_regex'];

const damaged = {
  code: 'sops-metadata',
  fix: 'encrypt the file again with sops; its metadata must not be edited',
};

/** Reads the value of `sops`. */
export function readSopsMetadata(raw: unknown): SopsMetadata | SopsFault {
  const parsed = schema.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = ['sops', ...(issue?.path ?? [])].join('.');
    return { ...damaged, message: `${where} is not valid sops metadata` };
  }
  const { data } = parsed;
  const comments = commentRules.find((rule) => data[rule] != null && data[rule] !== '');
  if (comments !== undefined) {
    const message = `${comments} selects the encrypted values by comments, which this version does not support`;
    return { code: 'sops-unsupported', message, fix: 'use encrypted_regex' };
  }
  const mac = readEncrypted(data.mac);
  if (mac === undefined) return { ...damaged, message: 'sops.mac is not a valid MAC' };
  const rule = ruleOf(data);
  if (rule === undefined) {
    const message = 'the encryption rule is not a valid regular expression, or there are several';
    return { ...damaged, message };
  }
  const recipients = recipientsOf(data);
  if ('message' in recipients) return recipients;
  return {
    recipients,
    mac,
    lastModified: data.lastmodified,
    macOnlyEncrypted: data.mac_only_encrypted === true,
    isEncrypted: rule,
  };
}

type Data = z.infer<typeof schema>;

function recipientsOf(data: Data): SopsMetadata['recipients'] | SopsFault {
  const groups = data.key_groups ?? [];
  if (groups.length > 1) {
    const message = 'its key is split among several groups of recipients, which is not supported';
    return { code: 'sops-unsupported', message, fix: 'encrypt the file for one group with age' };
  }
  const [keys = data] = groups;
  const recipients = (keys.age ?? []).map(({ recipient, enc }) => ({ recipient, envelope: enc }));
  if (recipients.length === 0) {
    const others = otherKeys.filter((name) => [keys[name]].flat().some((key) => key != null));
    const message = `it is encrypted for ${others.join(', ') || 'nobody'}; only age is supported`;
    const fix = 'add an age recipient: sops updatekeys, or sops rotate --add-age RECIPIENT';
    return { code: 'sops-unsupported', message, fix };
  }
  const isLarge = recipients.some(({ envelope }) => envelope.length > envelopeLengthMax);
  if (isLarge || recipients.length > recipientsMax) {
    return { ...damaged, message: 'sops.age is larger than any that sops writes' };
  }
  return recipients;
}

/** Returns undefined for several rules, or an invalid one. */
function ruleOf(data: Data): SopsMetadata['isEncrypted'] | undefined {
  const { encrypted_suffix: suffix, unencrypted_suffix: exemptSuffix } = data;
  const { encrypted_regex: pattern, unencrypted_regex: exemptPattern } = data;
  const given = [suffix, exemptSuffix, pattern, exemptPattern].filter((rule) => rule);
  if (given.length > 1) return undefined;
  const isExempt = !suffix && !pattern;
  const regex = pattern || exemptPattern;
  const matches = regex
    ? matching(regex)
    : (key: string) => key.endsWith(suffix || exemptSuffix || suffixByDefault);
  return matches && ((keys) => keys.some(matches) !== isExempt);
}

/** Compiles a pattern in the grammar of sops (RE2), which matches in linear time. */
function matching(pattern: string): ((key: string) => boolean) | undefined {
  try {
    const compiled = RE2JS.compile(pattern);
    return (key) => compiled.matcher(key).find();
  } catch {
    return undefined;
  }
}
