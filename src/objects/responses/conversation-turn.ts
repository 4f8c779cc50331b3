/** Reserves a conversation for one response, and adds the items of the response to it. */
import { detach } from '../../detached.ts';
import type { Db } from '../../store/connection/db.ts';
import * as conversations from '../../store/objects/conversations.ts';
import { ObjectError } from '../object-request.ts';
import type { ResponseItem } from './response-record.ts';

/** After this time without a renewal another response may use the conversation. */
const holdMs = 60_000;
const renewalMs = 20_000;

interface TurnOptions {
  readonly db: Db;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly key: conversations.ConversationKey;
  readonly responseId: string;
}

export class ConversationTurn {
  readonly #options: TurnOptions;
  readonly #renewals: NodeJS.Timeout;
  /** All items before this turn, oldest first. */
  readonly items: readonly ResponseItem[];

  private constructor(options: TurnOptions, items: readonly ResponseItem[]) {
    this.#options = options;
    this.items = items;
    const renew = () => detach('the renewal of a conversation', this.#renew());
    this.#renewals = setInterval(renew, renewalMs).unref();
  }

  /**
   * Returns null if the gateway does not store the conversation for this owner.
   *
   * @throws ObjectError while another response uses the conversation, or if it has more than `bytesMax`
   */
  static async begin(options: TurnOptions, bytesMax: number): Promise<ConversationTurn | null> {
    const { db, now, key, responseId } = options;
    const at = now();
    const isHeld = await conversations.holdFor(db, key, responseId, {
      now: at,
      until: at + holdMs,
    });
    const row = await conversations.find(db, key);
    if (row === undefined) return null;
    if (!isHeld) {
      const message = 'Another response is being added to the conversation; try again later';
      throw new ObjectError('conflict', message, 'conversation');
    }
    try {
      if (row.item_bytes > bytesMax) throw tooLong(bytesMax);
      const items = await conversations.listConversationItems(db, key);
      const parsed = items.map((item) => JSON.parse(item) as ResponseItem);
      return new ConversationTurn(options, parsed);
    } catch (thrown) {
      await conversations.setHold(db, key, responseId, null);
      throw thrown;
    }
  }

  get conversationId(): string {
    return this.#options.key.id;
  }

  /** Adds items in the transaction that ends the response; without effect if the conversation was deleted. */
  async append(tx: Db, items: readonly ResponseItem[]): Promise<void> {
    const { key, responseId, now } = this.#options;
    await conversations.append(tx, key, items.map(newItem), now());
    await conversations.setHold(tx, key, responseId, null);
  }

  /** Ends the reservation, whether or not items were added. */
  async release(): Promise<void> {
    clearInterval(this.#renewals);
    const { db, key, responseId } = this.#options;
    await conversations.setHold(db, key, responseId, null);
  }

  /** A failed renewal is repeated before the reservation ends. */
  #renew(): Promise<void> {
    const { db, key, responseId, now } = this.#options;
    return conversations.setHold(db, key, responseId, now() + holdMs);
  }
}

export function newItem(item: ResponseItem): conversations.NewItem {
  const text = JSON.stringify(item);
  return { item_id: item.id as string, item: text, bytes: Buffer.byteLength(text) };
}

function tooLong(bytesMax: number): ObjectError {
  const message = `The conversation has more than ${bytesMax} bytes, too many for a request`;
  return new ObjectError('body_too_large', message, 'conversation');
}
