/** Knows what sops writes beside the values of a file: who has the key, what is encrypted, the proof of the whole. */
import { RE2JS } from 're2js';
import { z } from 'zod';
import { type EncryptedValue, readEncrypted } from './encrypted-value.ts';

/** Text that one recipient opens; a hostile one would cost a multiplication a line. */
const envelopeLengthMax = 8 * 1024;
const recipientsMax = 100;

/** What is wrong with an encrypted file, and what to do. */
export interface SopsFault {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
}

export interface Metadata {
  /** The data key, as each recipient of age has it. */
  readonly recipients: readonly { readonly recipient: string; readonly envelope: string }[];
  readonly mac: EncryptedValue;
  /** As it is written, which the mac is bound to. */
  readonly lastModified: string;
  readonly macOnlyEncrypted: boolean;
  /** Whether the values below these keys are encrypted. */
  readonly isEncrypted: (keys: readonly string[]) => boolean;
}

/** Of keys whose values stay plain where a file names no rule. */
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

/** Who else may have the data key, as sops calls them. */
const otherKeys = ['pgp', 'kms', 'gcp_kms', 'hckms', 'azure_kv', 'hc_vault'];
const commentRules = ['encrypted_comment_regex', 'unencrypted_comment_regex'];

const damaged = {
  code: 'sops-metadata',
  fix: 'encrypt the file again with sops; what it writes beside the values must not be edited',
};

/** Reads what stands under `sops`. */
export function readMetadata(raw: unknown): Metadata | SopsFault {
  const parsed = schema.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = ['sops', ...(issue?.path ?? [])].join('.');
    return { ...damaged, message: `${where} is not what sops writes there` };
  }
  const { data } = parsed;
  const comments = commentRules.find((rule) => data[rule] != null && data[rule] !== '');
  if (comments !== undefined) {
    const message = `${comments} says by comments what is encrypted, which this version does not read`;
    return { code: 'sops-unsupported', message, fix: 'use encrypted_regex' };
  }
  const mac = readEncrypted(data.mac);
  if (mac === undefined) return { ...damaged, message: 'sops.mac is no proof of the values' };
  const rule = ruleOf(data);
  if (rule === undefined) {
    const message = 'the rule of what is encrypted is no regular expression, or there are several';
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

function recipientsOf(data: Data): Metadata['recipients'] | SopsFault {
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
    return { ...damaged, message: 'sops.age is larger than sops writes it' };
  }
  return recipients;
}

/** Undefined where there are several rules, or one that cannot be read. */
function ruleOf(data: Data): Metadata['isEncrypted'] | undefined {
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

/** In the grammar of sops, whose patterns take time in proportion to the text. */
function matching(pattern: string): ((key: string) => boolean) | undefined {
  try {
    const compiled = RE2JS.compile(pattern);
    return (key) => compiled.matcher(key).find();
  } catch {
    return undefined;
  }
}
