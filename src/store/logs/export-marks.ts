/** Knows the export_marks table: what tells two states of an organisation's exports apart, of which no snapshot tells. */
import { type MarkRow, marksOf } from '../rows/marks.ts';

declare module '../connection/db.ts' {
  interface Tables {
    export_marks: MarkRow;
  }
}

export const { replaceOne, stampOf } = marksOf('export_marks');
