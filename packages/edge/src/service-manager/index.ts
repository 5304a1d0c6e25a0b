export { openServiceManager, type ServiceManager, type ServiceManagerOptions } from "./service-manager.ts";
