/** Mail server of the gauntlet: appends each accepted mail to its journal, and refuses or holds mails as ordered. */
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { readOrders, record, reportReady } from './orders.ts';

export interface MailboxOrder {
  /** Mails are refused (450), or taken without a response until the next order, which refuses them. */
  readonly failure: 'refuses' | 'stalls' | null;
}

const [port, journalPath] = process.argv.slice(2);
let failure: MailboxOrder['failure'] = null;
const stalled: (() => void)[] = [];

const server = new SMTPServer({
  disabledCommands: ['STARTTLS'],
  authOptional: true,
  logger: false,
  onData: (stream, session, done) => {
    void text(stream).then((mail) => {
      const refuse = () => done(Object.assign(new Error('later'), { responseCode: 450 }));
      if (failure === 'refuses') return refuse();
      if (failure === 'stalls') return void stalled.push(refuse);
      const to = session.envelope.rcptTo.map(({ address }) => address);
      record(journalPath!, { to, mail, atMs: Date.now() });
      done();
    });
  },
});
server.on('error', () => undefined);
server.listen(Number(port), '127.0.0.1', () => reportReady({ port: Number(port) }));
readOrders<MailboxOrder>((order) => {
  failure = order.failure;
  for (const refuse of stalled.splice(0)) refuse();
});
