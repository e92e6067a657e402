//# allFunctionsCalledOnLoad
import{ii as e,ti as t}from"./index-mMScu983.js";var n=e(t(),1),r=n.createContext(void 0);function i(){return n.useContext(r)?.direction??`ltr`}export{i as t};