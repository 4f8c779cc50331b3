/** Defines how one change reaches the server: in a request of its own or in a change set. */

import type { LiveResource } from '../resources/resource-set.ts';
import type { AdminClient, ApiResponse } from '../server/client.ts';
import type { HeldLease } from './owner-lease.ts';
import { type ChangeContext, singleRequest, type WireChange } from './requests.ts';

/** Live resources by identity key, as in the plan. */
export type LiveByKey = ReadonlyMap<string, LiveResource>;

export interface ChannelContext {
  readonly client: AdminClient;
  /** The lease of the plan's owner; every write carries its fence. */
  readonly lease: HeldLease;
  /** Reads the live state again. */
  readonly lookAgain: () => Promise<LiveByKey>;
  /** Ends waits and retries; the request in flight is finished. */
  readonly signal?: AbortSignal | undefined;
}

/** The response to a change that was carried out. */
export type ChangeResponse = Pick<ApiResponse, 'body'>;

/** The channel through which a planned change is sent. */
export interface ChangeChannel {
  /**
   * Whether the changes of one resource share a transaction, so that none waits for the one before.
   */
  readonly isAtomic: boolean;
  /**
   * Returns the response to the last of the changes.
   *
   * @param id of the planned change
   * @param make called when the changes are sent, when the ids of their references are known
   * @throws ApiRefusal for the first change that is refused; what the client throws
   */
  send(
    id: string,
    make: (resolve: ChangeContext['resolve']) => readonly WireChange[],
  ): Promise<ChangeResponse>;
  lookAgain(): Promise<LiveByKey>;
}

/** Sends each change in a request of its own. */
export function singleChannel(
  context: ChannelContext,
  resolve: ChangeContext['resolve'],
): ChangeChannel {
  const { client, lease, lookAgain, signal } = context;
  return {
    isAtomic: false,
    send: async (_, make) => {
      let answer: ChangeResponse | undefined;
      for (const change of make(resolve)) {
        answer = await client.request({ ...singleRequest(change), fence: lease.fence, signal });
      }
      return answer!;
    },
    lookAgain,
  };
}
