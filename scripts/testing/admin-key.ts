/** Key of the admin routes on the stack that tests share, and of the services that tests start. */
export const ADMIN_KEY = "the-admin-key-that-only-the-tests-know";
