/** Collects faults with the workspaces that each affects, and whether it may hide more. */
import { basename } from 'node:path/posix';
import type { HeldFault } from '../resources/resource-set.ts';
import { ignoreFileName, type SourceFault } from '../source/source-files.ts';

type Reach = Omit<HeldFault, 'fault'>;

/** Returns the reach of a fault of a whole file, or of a part that does not identify itself. */
export function reachOfFile(
  path: string,
  workspaces: HeldFault['workspaces'],
  mayHideLayers: boolean,
): Reach {
  const holdsAll = mayHideLayers || basename(path) === ignoreFileName;
  return { workspaces, mayHide: true, unread: path, holdsAll };
}

/** The reach of faults in layers, which go into manifests of any workspace. */
export const reachOfLayers: Reach = { workspaces: [], mayHide: true, unread: null, holdsAll: true };

/** Collects faults under the reach that is set at the time. */
export class FaultLog {
  readonly held: HeldFault[] = [];
  /** The reach of what is being read. */
  #reach: Reach = { workspaces: [], mayHide: true, unread: null };

  /** Sets the reach of the faults that are reported from now on. */
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
