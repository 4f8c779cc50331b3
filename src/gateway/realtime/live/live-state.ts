/** Keeps what is known about one session of Gemini's live API. */
import type { ConversationBound } from '../conversation-bound.ts';
import type { LimitRules } from '../limit-rules.ts';
import type { SessionPorts } from '../session-ports.ts';
import type { LiveHandles } from './live-handles.ts';
import type { LiveTurns } from './live-turns.ts';

export interface LiveState {
  readonly ports: SessionPorts;
  readonly limits: LimitRules;
  readonly conversation: ConversationBound;
  readonly turns: LiveTurns;
  readonly handles: LiveHandles;
  /** Whether the provider detects the turns of the caller. */
  readonly detectsTurns: boolean;
}
