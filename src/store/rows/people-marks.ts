/** Table functions for people_marks: change markers of an organisation's people, who are in no snapshot. */
import { type MarkRow, marksOf } from './marks.ts';

declare module '../connection/db.ts' {
  interface Tables {
    people_marks: MarkRow;
  }
}

export const { replaceOne, generationOf, stampOf } = marksOf('people_marks');
