/** Lists every kind of fault; the order is part of what a seed means. */
import { clockFaults } from './clocks.ts';
import { databaseFaults } from './database.ts';
import { diskFaults } from './disks.ts';
import type { FaultKind } from './fault.ts';
import { networkFaults } from './network.ts';
import { processFaults } from './processes.ts';
import { providerFaults } from './provider.ts';
import { releaseFaults } from './releases.ts';
import { resourceFaults } from './resources.ts';
import { surroundingFaults } from './surroundings.ts';

export const everyFault = [
  ...processFaults,
  ...databaseFaults,
  ...providerFaults,
  ...surroundingFaults,
  ...clockFaults,
  ...diskFaults,
  ...releaseFaults,
  ...networkFaults,
  ...resourceFaults,
] as readonly FaultKind[];
