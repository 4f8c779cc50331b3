/** Translates the deltas of tool calls of a chat to items of a response. */
import { type StreamedCall, StreamedCalls } from '../../model/objects/streamed-calls.ts';
import type { DocumentNode, Json } from '../documents/document-node.ts';
import { CustomToolInput } from '../translation/custom-tools.ts';
import type { ResponseContext } from '../translation/translation.ts';
import { argumentsText, callIdOf, callItem } from './chat-response-to-responses.ts';
import type { EmitEvent, EndedItem } from './open-item.ts';
import { type CalledTools, calledToolsOf } from './tool-names.ts';

/** A tool call and its output item. */
export interface CallItem {
  /** Index in the output. */
  readonly at: number;
  readonly callId: string;
  readonly call: StreamedCall;
  readonly kind: 'function' | 'custom' | 'tool_search';
  readonly itemId: unknown;
  /** Set for a call of a custom tool. */
  readonly input: CustomToolInput | null;
}

export class CallItems {
  readonly #about: ResponseContext;
  readonly #emit: EmitEvent;
  readonly #tools: CalledTools;
  readonly #calls = new StreamedCalls();
  readonly #items = new Map<StreamedCall, CallItem>();
  /** Open calls; a model may interleave their deltas. */
  readonly #open = new Set<CallItem>();
  /** The call of the last delta. */
  #latest: CallItem | null = null;

  constructor(about: ResponseContext, emit: EmitEvent) {
    this.#about = about;
    this.#emit = emit;
    this.#tools = calledToolsOf(about.request);
  }

  /** Open calls in order. */
  get open(): readonly CallItem[] {
    return [...this.#open];
  }

  /** `begin` ends what is open before a new call, and returns its index. */
  delta(
    delta: DocumentNode,
    at: number,
    begin: () => { readonly events: string; readonly at: number },
  ): string {
    const called = delta.at('function');
    const [id, name] = [delta.at('id'), called.isAbsent ? called : called.at('name')];
    const call = this.#calls.take({
      index: delta.at('index').value,
      at,
      id: id.isAbsent ? null : id.text(),
      name: name.isAbsent ? null : name.text(),
    });
    let startEvents = '';
    if (!this.#items.has(call)) {
      // A call must have a name.
      called.at('name').text();
      const begun = begin();
      startEvents = begun.events + this.#begin(call, begun.at);
    }
    const item = this.#items.get(call)!;
    this.#latest = item;
    const argumentsDelta = called.isAbsent ? '' : argumentsText(called.at('arguments'));
    if (argumentsDelta === '') return startEvents;
    if (!this.#open.has(item)) {
      if (argumentsDelta.trim() === '') return startEvents;
      called.at('arguments').refuse('goes back to a call that has ended');
    }
    call.arguments += argumentsDelta;
    return startEvents + this.#argumentsDelta(item, argumentsDelta);
  }

  /** The last call, once its arguments are complete JSON; null otherwise. */
  whole(): CallItem | null {
    const latest = this.#latest;
    if (latest === null || !this.#open.has(latest)) return null;
    return this.#calls.isWhole(latest.call) ? latest : null;
  }

  end(open: CallItem): EndedItem {
    this.#open.delete(open);
    const item = this.#itemOf(open);
    const position = { output_index: open.at };
    // Events are numbered in the order in which they are emitted.
    const inputDone = this.#inputDone(open, item);
    const done = this.#emit('response.output_item.done', { ...position, item });
    return { events: inputDone + done, item };
  }

  #begin(call: StreamedCall, at: number): string {
    const kind = this.#tools.get(call.name)?.kind ?? 'function';
    const callId = call.id ?? callIdOf(this.#about, at);
    const input = kind === 'custom' ? new CustomToolInput() : null;
    const begun = { at, call, callId, kind, input, itemId: '' };
    const added = this.#itemOf(begun, 'in_progress');
    const item = { ...begun, itemId: added.id };
    this.#items.set(call, item);
    this.#open.add(item);
    return this.#emit('response.output_item.added', { output_index: at, item: added });
  }

  #argumentsDelta({ at, kind, input, itemId }: CallItem, delta: string): string {
    const position = { item_id: itemId, output_index: at };
    if (kind === 'function') {
      return this.#emit('response.function_call_arguments.delta', { ...position, delta });
    }
    const more = input?.add(delta) ?? '';
    if (more === '') return '';
    return this.#emit('response.custom_tool_call_input.delta', { ...position, delta: more });
  }

  #inputDone({ at, kind, input, itemId, call }: CallItem, item: Json): string {
    const position = { item_id: itemId, output_index: at };
    if (input !== null) {
      const { rest, input: whole } = input.end();
      const delta = { ...position, delta: rest };
      const last = rest === '' ? '' : this.#emit('response.custom_tool_call_input.delta', delta);
      return (
        last + this.#emit('response.custom_tool_call_input.done', { ...position, input: whole })
      );
    }
    if (kind !== 'function') return '';
    const done = { ...position, name: item.name, arguments: call.arguments };
    return this.#emit('response.function_call_arguments.done', done);
  }

  /** Builds the item in its current state. */
  #itemOf({ at, call, callId }: CallItem, status?: string): Json {
    const { name, arguments: text } = call;
    const called = { call_id: callId, name, arguments: text };
    return callItem(this.#about, at, called, this.#tools, status);
  }
}
