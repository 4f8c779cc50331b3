/** Knows what each fault of a source holds up: the workspaces in which it stands, and whether it may hide more. */
import { basename } from 'node:path/posix';
import type { HeldFault } from '../resources/resource-set.ts';
import { ignoreFileName, type SourceFault } from '../source/source-files.ts';

type Reach = Omit<HeldFault, 'fault'>;

/** Of a fault about a file as a whole, or a part of it that says of nothing what it is. */
export function reachOfFile(
  path: string,
  workspaces: HeldFault['workspaces'],
  mayHideLayers: boolean,
): Reach {
  const holdsAll = mayHideLayers || basename(path) === ignoreFileName;
  return { workspaces, mayHide: true, unread: path, holdsAll };
}

/** Of what goes into manifests of any workspace. */
export const reachOfLayers: Reach = { workspaces: [], mayHide: true, unread: null, holdsAll: true };

/** Collects faults while it is said what they are about. */
export class FaultLog {
  readonly held: HeldFault[] = [];
  /** Of what is being read. */
  #reach: Reach = { workspaces: [], mayHide: true, unread: null };

  /** What the faults that are reported from here on stand in. */
  about(workspaces: HeldFault['workspaces'], mayHide: boolean): void {
    this.#reach = { workspaces, mayHide, unread: null };
  }

  readonly report = (fault: SourceFault): void => {
    this.held.push({ fault, ...this.#reach });
  };

  reportOf(fault: SourceFault, reach: Reach): void {
    this.held.push({ fault, ...reach });
  }
}
