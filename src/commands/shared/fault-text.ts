/** Knows how faults in manifests are shown: to people, and as annotations of a GitHub workflow. */
import type { SourceFault } from '../../sync/source/source-files.ts';

/** More lines than this help nobody; the count says how many there are. */
const faultsShownMax = 200;

/** `file:line:column message`, the fix below it, and a count at the end. */
export function formatFaults(faults: readonly SourceFault[]): string {
  const lines = faults.slice(0, faultsShownMax).flatMap(({ position, message, fix }) => {
    const { file, line, column } = position;
    const told = `${file}:${line}:${column} ${message}`;
    return fix === undefined ? [told] : [told, `    ${fix}`];
  });
  const hidden = faults.length - faultsShownMax;
  if (hidden > 0) lines.push(`… and ${hidden} more`);
  const places = new Set(faults.map(({ position }) => position.file)).size;
  const total = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
  lines.push('', `${total} in ${places === 1 ? '1 file' : `${places} files`}`);
  return `${lines.join('\n')}\n`;
}

/** One `::error` command a fault. */
export function formatGithubFaults(faults: readonly SourceFault[]): string {
  return faults
    .map(({ position, code, message, fix }) => {
      const { file, line, column } = position;
      const place = `file=${property(file)},line=${line},col=${column},title=${property(code)}`;
      return `::error ${place}::${data(fix === undefined ? message : `${message}\n${fix}`)}\n`;
    })
    .join('');
}

function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
