/**
 * Orders test files by project, because the files of a project share the modules that a worker has
 * loaded.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that start processes come first, because they mostly wait; the shortest come last. */
const projects = ['system', 'api', 'unit'];

export class ProjectOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const longestFirst = await super.sort(files);
    const rank = ({ project }: TestSpecification) => projects.indexOf(project.name);
    return longestFirst.toSorted((one, other) => rank(one) - rank(other));
  }
}
