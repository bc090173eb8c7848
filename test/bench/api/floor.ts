// The floor of `npm run bench:api`: a bare Koa route that answers one indexed findOne. Prints its port.
import Koa from "koa";
import { MongoClient } from "mongodb";

const [uri = "", databaseName = ""] = process.argv.slice(2);
const client = await MongoClient.connect(uri);
const listings = client.db(databaseName).collection<{ _id: string }>("listings");
const app = new Koa();
app.use(async (context) => {
  context.body = await listings.findOne(
    { _id: context.path.slice("/services/".length) },
    { projection: { embedding: 0 } },
  );
});
const server = app.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" && address !== null ? address.port : "");
});
