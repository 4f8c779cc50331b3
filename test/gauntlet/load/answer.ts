/** Records what a caller of the gauntlet saw. */

/** Part of the product that a request addressed, by what it may depend on. */
type Surface =
  /** Chats of keys without limits, which need neither database nor control plane. */
  | 'chat'
  /** Chats of keys with limits. */
  | 'limited chat'
  /** Requests with keys that the snapshot of a gateway may lack. */
  | 'new keys'
  | 'tools'
  | 'objects'
  | 'admin'
  | 'console'
  /** Commands of an operator. */
  | 'jobs';

export interface Answer {
  readonly surface: Surface;
  readonly load: string;
  /** Name of the process that was called; null behind the load balancer. */
  readonly place: string | null;
  readonly sentMs: number;
  readonly doneMs: number;
  /** 0 without an answer. */
  readonly status: number;
  /** Error code or other detail, for the report. */
  readonly detail: string;
  /** Whether it is correct without any fault. */
  readonly isUsual: boolean;
}
