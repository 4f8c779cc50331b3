/** Knows how one change reaches the server: by a request of its own, or, behind the same words, in a change set. */

import type { LiveResource } from '../resources/resource-set.ts';
import type { AdminClient, ApiResponse } from '../server/client.ts';
import type { HeldLease } from './owner-lease.ts';
import { type RequestContext, requestOf, type WireChange } from './requests.ts';

/** Live resources by identity key, as in the plan. */
export type LiveByKey = ReadonlyMap<string, LiveResource>;

export interface ChannelContext {
  readonly client: AdminClient;
  /** Of the plan's owner; every write carries its fence. */
  readonly lease: HeldLease;
  /** Reads the server anew. */
  readonly lookAgain: () => Promise<LiveByKey>;
  /** Ends waiting and repeating; what is under way is finished. */
  readonly signal?: AbortSignal | undefined;
}

/** What the server has told of a change that it has carried out. */
export type Told = Pick<ApiResponse, 'body'>;

/** What a planned change is sent through. */
export interface Channel {
  /** Whether changes of one resource go in one transaction, so that neither is awaited before the next. */
  readonly isAtomic: boolean;
  /**
   * Yields the answer to the last of the changes.
   *
   * @param id of the planned change
   * @param make asked as they are sent, when what they refer to is known
   * @throws ApiRefusal for the first that is refused; what the client throws
   */
  send(
    id: string,
    make: (resolve: RequestContext['resolve']) => readonly WireChange[],
  ): Promise<Told>;
  lookAgain(): Promise<LiveByKey>;
}

/** Each change by a request of its own. */
export function singleChannel(
  context: ChannelContext,
  resolve: RequestContext['resolve'],
): Channel {
  const { client, lease, lookAgain, signal } = context;
  return {
    isAtomic: false,
    send: async (_, make) => {
      let answer: Told | undefined;
      for (const change of make(resolve)) {
        answer = await client.request({ ...requestOf(change), fence: lease.fence, signal });
      }
      return answer!;
    },
    lookAgain,
  };
}
