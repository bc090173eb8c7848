// Mocha loads this file before every test file of test/subgraph, test/api and test/e2e.
import { use } from "chai";
import chaiAsPromised from "chai-as-promised";

use(chaiAsPromised);
