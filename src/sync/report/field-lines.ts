/** Formats the changes of one field as lines, one for each single value that differs. */
import type { KindName } from '../../model/kinds/kinds.ts';
import { kinds } from '../../model/kinds/kinds.ts';
import { oneLine } from '../../terminal-text.ts';
import { alignLists } from '../diff/alignment.ts';
import { defaultText } from '../diff/consequences.ts';
import { isExact } from '../diff/equality.ts';
import { isNested, leafValues } from '../diff/leaf-values.ts';
import type { FieldChange, PlannedChange } from '../plan/plan-model.ts';
import {
  type DesiredResource,
  placeText,
  type Spec,
  type SpecJson,
} from '../resources/resource-set.ts';
import { isSecret, pointerOf, segmentsOf } from '../resources/spec-paths.ts';
import { pairText, valueText } from './value-text.ts';
import { yamlPath } from './yaml-path.ts';

/** One value: removed, added, or both. All texts are safe to print. */
export interface FieldLine {
  readonly path: string;
  /** Null when there is no value on that side. */
  readonly from: string | null;
  readonly to: string | null;
  /** For example `drift` or `goes back to no budget`. */
  readonly notes: readonly string[];
  readonly loosens: boolean;
  /** Nothing differs; only the record of what was applied is renewed. */
  readonly isRecord: boolean;
}

/** Returns all field changes of a change, in plan order. */
export function fieldLines(change: PlannedChange): FieldLine[] {
  const { identity, live, desired } = change;
  const sides = { live: live?.spec ?? {}, wanted: desired?.spec ?? {} };
  return change.fields.flatMap((field) => linesOf(identity.kind, field, { ...sides, desired }));
}

interface Sides {
  readonly live: Spec;
  readonly wanted: Spec;
  readonly desired: DesiredResource | null;
}

/** Returns where a value comes from that is not the manifest's own. */
function originNotes(desired: DesiredResource | null, segments: readonly string[]): string[] {
  if (desired?.isComposed !== true) return [];
  const position = desired.positionOf(pointerOf(segments));
  return position.related === undefined ? [] : [oneLine(placeText(position))];
}

function linesOf(
  kind: KindName,
  field: FieldChange,
  { live, wanted, desired }: Sides,
): FieldLine[] {
  const { difference, from, to, reason, loosens } = field;
  const drift = reason === 'drift' ? ['drift'] : [];
  const line = (path: string, parts: Partial<FieldLine>): FieldLine => ({
    path,
    from: null,
    to: null,
    notes: drift,
    loosens,
    isRecord: false,
    ...parts,
  });
  const segments = segmentsOf(field.path);
  if (difference === 'recorded') {
    const path = yamlPath(kind, to === null ? live : wanted, segments);
    const text = to === null ? 'not set' : valueText(to);
    return [line(path, { to: text, notes: ['already so, recorded'], isRecord: true })];
  }
  const gone = difference === 'added' ? [] : leafValues(from, segmentsOf(field.livePath));
  const come = difference === 'removed' ? [] : leafValues(to, segments);
  const isPair = gone.length === 1 && come.length === 1 && !isNested(from) && !isNested(to);
  if (isPair) {
    const path = yamlPath(kind, wanted, segments);
    const notes = [...drift, ...originNotes(desired, segments)];
    return pairLines(from, to).map(({ suffix, ...parts }) =>
      line(path + suffix, { notes, ...parts }),
    );
  }
  const removed = gone.flatMap(({ segments: at, value }) =>
    textLines(value).map(([suffix, text]) =>
      line(yamlPath(kind, live, at) + suffix, { from: text }),
    ),
  );
  const added = come.flatMap(({ segments: at, value }) =>
    textLines(value).map(([suffix, text]) =>
      line(yamlPath(kind, wanted, at) + suffix, {
        to: text,
        notes: [...drift, ...originNotes(desired, at)],
      }),
    ),
  );
  return [...withDefault(kind, field, removed), ...added];
}

/** Adds to the last line of a removed field the default that applies from then on. */
function withDefault(kind: KindName, field: FieldChange, lines: readonly FieldLine[]): FieldLine[] {
  const segments = segmentsOf(field.path);
  const isField = !segments.some((key) => /^\d+$/.test(key)) && !isExact(kinds[kind], segments);
  if (field.difference !== 'removed' || !isField) return [...lines];
  return lines.map((line, at) => {
    if (at < lines.length - 1) return line;
    const notes = [...line.notes, `goes back to ${defaultText(kind, segments)}`];
    return { ...line, notes };
  });
}

interface ValueLine extends Partial<FieldLine> {
  /** Appended to the path: ` line 3`. */
  readonly suffix: string;
}

/** Compares two single values; of multi-line texts only the lines that differ. */
function pairLines(from: SpecJson, to: SpecJson): ValueLine[] {
  if (isSecret(from) && isSecret(to)) {
    return [{ suffix: '', from: '(secret)', to: valueText(to), notes: ['another value'] }];
  }
  const isText = typeof from === 'string' && typeof to === 'string';
  if (!isText || !(from.includes('\n') || to.includes('\n'))) {
    const [before, after] = pairText(from, to);
    return [{ suffix: '', from: before, to: after }];
  }
  const [before, after] = [from.split('\n'), to.split('\n')];
  return alignLists(before, after, (one, other) => one === other).flatMap((pair): ValueLine[] => {
    const one = pair.before === null ? null : before[pair.before]!;
    const other = pair.after === null ? null : after[pair.after]!;
    const suffix = ` line ${(pair.after ?? pair.before)! + 1}`;
    if (one === null) return [{ suffix, from: null, to: valueText(other) }];
    if (other === null) return [{ suffix, from: valueText(one), to: null }];
    const [left, right] = pairText(one, other);
    return one === other ? [] : [{ suffix, from: left, to: right }];
  });
}

/** Formats a value on one side, a line for each line of text. */
function textLines(value: SpecJson): [suffix: string, text: string][] {
  if (typeof value !== 'string' || !value.includes('\n')) return [['', valueText(value)]];
  return value.split('\n').map((line, at) => [` line ${at + 1}`, valueText(line)]);
}
