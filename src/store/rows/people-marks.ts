/** Knows the people_marks table: what tells two states of an organisation's people apart, of which no snapshot tells. */
import { type MarkRow, marksOf } from './marks.ts';

declare module '../connection/db.ts' {
  interface Tables {
    people_marks: MarkRow;
  }
}

export const { replaceOne, generationOf, stampOf } = marksOf('people_marks');
