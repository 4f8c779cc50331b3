/** Knows in which order test files run: those of a project one after another, as they share what a worker has loaded. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of processes begin, because they wait most; what is over soonest ends a run. */
const projects = ['system', 'api', 'unit'];

export class ProjectOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const longestFirst = await super.sort(files);
    const rank = ({ project }: TestSpecification) => projects.indexOf(project.name);
    return longestFirst.toSorted((one, other) => rank(one) - rank(other));
  }
}
