/** Declares the part of smtp-server that tests use; the package has no types. */
declare module 'smtp-server' {
  import type { Readable } from 'node:stream';

  export class SMTPServer {
    constructor(
      options: Readonly<Record<string, unknown>> & {
        onData(
          stream: Readable,
          session: { secure: boolean; user?: string; envelope: { rcptTo: { address: string }[] } },
          done: (error?: Error | null) => void,
        ): void;
        onAuth?(
          auth: { username?: string; password?: string },
          session: unknown,
          done: (error: Error | null, answer?: { user: string }) => void,
        ): void;
      },
    );
    readonly server: import('node:net').Server;
    listen(port: number, host: string, done: () => void): void;
    close(done: () => void): void;
    on(event: 'error', listener: (error: Error) => void): this;
  }
}
