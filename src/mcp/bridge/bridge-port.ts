/** Defines what the bridge needs of the request that it serves, so that it knows neither keys nor rules. */
import type { ServerResponse } from 'node:http';
import type { PlaneFault } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { ParamHeaders } from '../messages/verify-headers.ts';
import type { EventOutput } from '../streams/event-output.ts';
import type { ResponseReading } from '../transfer/read-response.ts';
import type { LiveResponse } from '../transfer/response-chunks.ts';
import type { SessionOwner } from './legacy-session.ts';
import type { AskServer } from './probe-era.ts';

/** One request of a client that has passed all rules. */
export interface BridgePort {
  readonly organisationId: string;
  readonly owner: SessionOwner;
  readonly response: ServerResponse;
  /** Writes events to the response. */
  readonly output: EventOutput;
  /** Headers of the gateway for the response; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Sends a message to the server; resolves when its response begins. `onOpen` receives the call before. @throws PlaneFault */
  readonly send: (
    protocol: Readonly<Record<string, string>>,
    message: RpcObject,
    isOpenEnded: boolean,
    onOpen?: (call: LiveResponse) => void,
  ) => Promise<LiveResponse>;
  /** Begins to read one response, whose messages count in the memory until it is released. */
  readonly beginReading: () => ResponseReading;
  /** Sends a request of the gateway itself. @throws PlaneFault */
  readonly ask: AskServer;
  /** Applies rules to a message for the client; null for a message that it must not receive. */
  readonly take: (message: RpcObject) => Promise<unknown>;
  /** Headers of arguments of the tool; undefined for a tool that is unknown. */
  readonly paramHeaders: (tool: string) => ParamHeaders | undefined;
  /** Has the server list its tools, so that the headers of their arguments are known. @throws PlaneFault, ListingFailed */
  readonly learnParamHeaders: () => Promise<void>;
  /** Called when the response becomes a stream. */
  readonly onStream: () => void;
  /** Called with an error that the client receives in a stream. */
  readonly onFault: (fault: PlaneFault) => void;
  /** Keeps a stream in step with the caller's rights; returns a function that forgets it. */
  readonly follow: (end: () => void) => () => void;
  /** Calls `end` when the process stops; returns a function that forgets it. */
  readonly onStop: (end: () => void) => () => void;
  /** Called when the server no longer speaks the modern era. */
  readonly onOtherEra: () => void;
}
