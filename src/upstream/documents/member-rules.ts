/** Defines for each member of a document whether it reaches the other format. */

/** Fate of a member in the other format. */
export type Treatment = 'carried' | 'mapped' | 'implied' | 'hint' | 'optional' | 'refused';

export interface MemberRule {
  readonly treatment: Treatment;
  /** Counterpart or reason, for the document; '' for none. */
  readonly note: string;
  /** Values that have no effect, so that nothing is lost without them. */
  readonly usual: readonly unknown[];
}

function rule(treatment: Treatment) {
  return (note = '', usual: readonly unknown[] = []): MemberRule => ({ treatment, note, usual });
}

/** Has the same name and meaning. */
export const carried = rule('carried');
/** Has another name or form, which the translation builds. */
export const mapped = rule('mapped');
/** Repeats what the document says elsewhere, so that nothing is lost. */
export const implied = rule('implied');
/** Is left out and recorded; the response means the same. */
export const hint = rule('hint');
/** Is a tool that the model may leave unused: left out and recorded beside tools of the caller, else refused. */
export const optionalTool = rule('optional');
/** Is refused, because the response would mean something else; left out with `unsupported: drop`. */
export const refusal = rule('refused');

/** Rules by name of the member. */
export type MemberRules = ReadonlyMap<string, MemberRule>;

export function memberRules(rules: Readonly<Record<string, MemberRule>>): MemberRules {
  return new Map(Object.entries(rules));
}

/** Rules of all objects at some places of a document. */
export interface ObjectShape {
  readonly name: string;
  /** Matches the paths of these objects, without indexes: `messages[].content[]`. */
  readonly places: RegExp;
  /** Rules by `type`, else by `role`; '' where neither distinguishes them. One rule treats the whole object. */
  readonly kinds: Readonly<Record<string, MemberRules | MemberRule>>;
}

/** Rules of a request in one format for another. */
export interface FormatRules {
  readonly from: string;
  readonly to: string;
  readonly shapes: readonly ObjectShape[];
}

/** Whether objects of a kind may be left out; `isOptional` where tools of the kind may be unused. */
export function isHintOfKind(shape: ObjectShape, kind: string, isOptional: boolean): boolean {
  const rules = Object.hasOwn(shape.kinds, kind) ? shape.kinds[kind]! : refusal();
  if (rules instanceof Map) return false;
  const { treatment } = rules as MemberRule;
  return treatment === 'hint' || (treatment === 'optional' && isOptional);
}
