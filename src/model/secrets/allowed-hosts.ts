/** Defines the hosts to which the value of a secret reference may be sent. */
import { z } from 'zod';
import { readTrustedHosts, type TrustedHosts } from '../../trusted-hosts.ts';
import { described } from '../wire/described.ts';
import { readDocument } from '../wire/json-record.ts';

const hostsMax = 100;

const AllowedHost = z
  .string()
  .min(1)
  .max(255)
  .toLowerCase()
  .refine(
    (text) => !text.includes(',') && 'hosts' in readTrustedHosts(text),
    'must be a host, *.suffix or IP address, with :port if wanted, and no cloud metadata service',
  );

export const AllowedHosts = described(
  z.array(AllowedHost).max(hostsMax).nullable().optional(),
  'Hosts to which the value may be sent beside the own address of a service: names, *.suffixes, IP addresses, each with :port if wanted.',
  { default: [], examples: [['models.example.com', '*.openai.azure.com']] },
);

/** The stored list; null when the reference is older than such lists. */
export function allowedHostsOf({
  allowed_hosts: text,
}: {
  readonly allowed_hosts: string | null;
}): string[] | null {
  return readDocument<string[]>(text);
}

/** Parses the list for comparisons with addresses. */
export function parseAllowedHosts(entries: readonly string[]): TrustedHosts {
  if (entries.length === 0) return [];
  const read = readTrustedHosts(entries.join());
  return 'hosts' in read ? read.hosts : [];
}
