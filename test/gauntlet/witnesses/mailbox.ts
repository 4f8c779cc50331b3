/** Mail server of the gauntlet: appends each accepted mail to its journal, and refuses mails as ordered. */
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { readOrders, record, reportReady } from './orders.ts';

export interface MailboxOrder {
  /** Whether mails are refused for now (450). */
  readonly refuses: boolean;
}

const [port, journalPath] = process.argv.slice(2);
let refuses = false;

const server = new SMTPServer({
  disabledCommands: ['STARTTLS'],
  authOptional: true,
  logger: false,
  onData: (stream, session, done) => {
    void text(stream).then((mail) => {
      if (refuses) return done(Object.assign(new Error('later'), { responseCode: 450 }));
      const to = session.envelope.rcptTo.map(({ address }) => address);
      record(journalPath!, { to, mail, atMs: Date.now() });
      done();
    });
  },
});
server.on('error', () => undefined);
server.listen(Number(port), '127.0.0.1', () => reportReady({ port: Number(port) }));
readOrders<MailboxOrder>((order) => {
  refuses = order.refuses;
});
