/** Sends mail by SMTP with the configured server, TLS mode and credentials. */
import { createTransport } from 'nodemailer';
import type { MailSettings } from '../../settings/groups/mail.ts';

/** A plain-text mail; all recipients see each other. */
export interface Mail {
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  /** Equal for repeats, so that mailboxes detect duplicates; without angle brackets and domain. */
  readonly id: string;
}

/** Resolves when the server has accepted the mail for at least one recipient. */
export type SendMail = (mail: Mail) => Promise<void>;

const connectTimeoutMs = 10_000;
const idleTimeoutMs = 30_000;

export function createMailer({ host, port, tls, user, password, from }: MailSettings): SendMail {
  const transport = createTransport({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(user === null ? {} : { auth: { user, pass: password?.reveal() ?? '' } }),
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: connectTimeoutMs,
    socketTimeout: idleTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = from.slice(from.lastIndexOf('@') + 1).replace(/>$/, '');
  return async ({ to, subject, text, id }) => {
    const messageId = `<${id}@${domain}>`;
    await transport.sendMail({ from, to: [...to], subject, text, messageId });
  };
}
