/** Declares the part of oidc-provider that tests use; the package has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

  interface Grant {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    readonly Grant: new (of: {
      clientId: string;
      accountId: string;
    }) => Grant;
    readonly AccessToken: {
      find(value: string): Promise<{ readonly aud: string; readonly scope: string } | undefined>;
    };
    callback(): RequestListener;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: Record<string, unknown>,
    ): Promise<void>;
    registerGrantType(
      name: string,
      handler: (context: never) => Promise<void>,
      parameters: readonly string[],
    ): void;
    on(event: string, listener: (...args: never[]) => void): this;
  }
}
